package auction

import "adnet/auction/ranker"

// foretellMost is the number of candidates that [Foretell] checks: the winner by one table is among
// the first by another, or far behind.
const foretellMost = 16

// Foretell returns the probability of a click that another snapshot predicts for the winner of an
// auction, or 0 if the winner is not among its first candidates. It decides nothing and calls no
// gate.
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
