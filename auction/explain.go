package auction

import (
	"bytes"
	"cmp"
	"slices"

	"adnet/auction/index"
	"adnet/internal/money"
)

// Explanation is an [Outcome] together with what happened to every other campaign.
type Explanation struct {
	// Outcome equals the result of [Decide] for the same arguments, unless a gate answers [Stale]
	// so often that Decide gives up.
	Outcome
	// Losers are all other campaigns: first the matching ones in score order, then the rest by id.
	Losers []Loser
}

// Loser is a campaign that did not win.
type Loser struct {
	// Campaign belongs to the snapshot.
	Campaign *Campaign
	// EffectiveCPM is in micro-USD, and 0 for a campaign that did not match. A small value of one that
	// did rounds to 0 too.
	EffectiveCPM money.Micros
	// Reason is never empty.
	Reason Reason
	// Mismatch names the first campaign field that excluded the request when Reason is [NoMatch],
	// [NotStarted], [Ended], [SensitiveSubject] or [Unpaid]: "format", "target_regions" and so on. It is
	// empty for a candidate that the gate refused.
	Mismatch string
}

// Explain runs the auction by a linear scan and accounts for every campaign. It calls the gate
// exactly as [Decide] would: never after the winner, whose followers are [Outbid]. It takes time
// and memory in proportion to the snapshot and is meant for diagnosis and as the reference in
// tests.
func Explain(req *Request, snapshot *Snapshot, gate Gate) Explanation {
	if snapshot.Len() == 0 {
		return Explanation{Outcome: Outcome{Reason: NoCampaigns}}
	}
	candidates, unmatched := scan(req, snapshot)
	table, explorer := snapshot.Table(), exploring(req, snapshot, candidates)
	result := Explanation{Outcome: Outcome{Reason: NoMatch}}
	for _, reason := range [...]Reason{Irrelevant, SensitiveSubject, Unpaid} {
		if slices.ContainsFunc(unmatched, func(l Loser) bool { return l.Reason == reason }) {
			result.Reason = reason
		}
	}
	for i, c := range candidates {
		if result.Winner != nil {
			result.Losers = append(result.Losers, lost(c, passedOver(req, c.Candidate)))
			continue
		}
		reason := refuse(req, gate, &table, c.Candidate)
		if reason == "" {
			result.Outcome = won(snapshot, c.Candidate, &c.found, explorer)
			continue
		}
		if i == 0 {
			result.Reason = reason
		}
		result.Losers = append(result.Losers, lost(c, reason))
	}
	result.Losers = append(result.Losers, unmatched...)
	return result
}

// exploring moves the campaign that explores in an auction, if any, before those of no more value.
func exploring(req *Request, snapshot *Snapshot, candidates []scanned) *Campaign {
	if snapshot.Learnt() == nil || !mayExplore(req.ID) {
		return nil
	}
	var best []index.Candidate
	for voted := 0; voted < exploreAmong && len(best) < min(exploreMost, len(candidates)); {
		best = append(best, candidates[len(best)].Candidate)
		if best[len(best)-1].Campaign.Vote > 0 {
			voted++
		}
	}
	table := snapshot.Table()
	at, value := explorer(&table, best)
	if at == 0 {
		return nil
	}
	first := candidates[at]
	first.EffectiveCPM = value
	to := before(best, value)
	copy(candidates[to+1:at+1], candidates[to:at])
	candidates[to] = first
	return first.Campaign
}

// excluded returns the reason of a campaign excluded by one of its own fields.
func excluded(mismatch string) Reason {
	switch mismatch {
	case index.StartField:
		return NotStarted
	case index.EndField:
		return Ended
	case index.AllowedField, index.ExcludedField:
		return SensitiveSubject
	case index.BoundField:
		return Unpaid
	}
	return NoMatch
}

// passedOver returns the reason of a candidate behind the winner, without calling the gate.
func passedOver(req *Request, c index.Candidate) Reason {
	if reason := unwanted(req, c); reason != "" {
		return reason
	}
	return Outbid
}

func lost(c scanned, reason Reason) Loser {
	return Loser{Campaign: c.Campaign, EffectiveCPM: c.EffectiveCPM, Reason: reason}
}

// scanned is a candidate of a scan.
type scanned struct {
	index.Candidate
	found index.Found
}

// scan scores every matching campaign and lists the others, including the ones that match but are
// not relevant enough.
func scan(req *Request, snapshot *Snapshot) (candidates []scanned, unmatched []Loser) {
	query := req.query()
	matcher := index.NewMatcher(snapshot, &query)
	table := snapshot.Table()
	for c := range snapshot.All() {
		found, mismatch, ok := matcher.Match(c)
		value := c.Value(&table, found.Relevance)
		if !ok && !found.Irrelevant {
			unmatched = append(unmatched, Loser{Campaign: c, Reason: excluded(mismatch), Mismatch: mismatch})
			continue
		}
		if found.Irrelevant { // the subjects it runs beside do not matter
			unmatched = append(unmatched, Loser{Campaign: c, EffectiveCPM: value, Reason: Irrelevant})
			continue
		}
		candidates = append(
			candidates, scanned{index.Candidate{Campaign: c, EffectiveCPM: value, Relevance: found.Relevance}, found},
		)
	}
	slices.SortFunc(candidates, func(a, b scanned) int {
		return cmp.Or(cmp.Compare(b.EffectiveCPM, a.EffectiveCPM), cmp.Compare(
			table.Match(b.found.Signals), table.Match(a.found.Signals),
		),
			index.CompareTies(&query, a.Campaign, b.Campaign), compareID(a.Campaign, b.Campaign))
	})
	slices.SortFunc(unmatched, func(a, b Loser) int { return compareID(a.Campaign, b.Campaign) })
	return candidates, unmatched
}

func compareID(a, b *Campaign) int { return bytes.Compare(a.ID[:], b.ID[:]) }
