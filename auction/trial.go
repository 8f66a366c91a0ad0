package auction

import "adnet/auction/ranker"

// foretellMost is how many candidates [Foretell] looks at: the winner of one table is among the
// first of another, or far behind.
const foretellMost = 16

// Foretell is the probability of a click that another snapshot gives the winner of an auction; 0
// when the winner is not among its first candidates. It decides nothing and asks no gate.
func Foretell(req *Request, trial *Snapshot, winner ID, scratch *Scratch) ranker.PPM {
	query := req.query()
	scratch.search.Start(trial, &query)
	table := trial.Table()
	for range foretellMost {
		c, ok := scratch.search.Next()
		if !ok {
			return 0
		}
		if c.Campaign.ID == winner {
			return table.PClick(c.Relevance)
		}
	}
	return 0
}
