package auction

import "adnet/auction/ranker"

// predictMost is the number of candidates that [PredictClick] checks: the winner by one table is
// among the first by another, or far behind.
const predictMost = 16

// PredictClick returns the probability of a click that another snapshot predicts for the winner of
// an auction, or 0 if the winner is not among its first candidates. It decides nothing and calls no
// gate.
func PredictClick(req *Request, trial *Snapshot, winner ID, scratch *Scratch) ranker.PPM {
	query := req.query()
	scratch.search.Start(trial, &query)
	table := trial.Table()
	for range predictMost {
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
