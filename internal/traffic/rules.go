// Package traffic has the rules of invalid traffic: which events are invalid, which publisher's day
// is anomalous, and how much of a caller's address may be counted or kept. It judges numbers and
// names and does no I/O. The cost of a verdict is the business of internal/ledger.
package traffic

// The rules that make traffic invalid: a closed list. An event that one of them found is recorded
// with the verdict "invalid_traffic:" and the rule's name, is answered like any other, costs
// nothing, earns nothing, and does not use up the deduplication key of the real event. It counts
// once per auction and event type, and not where a valid one was recorded: repeats are duplicates.
// All but [RuleNoImpression] are decided by ingress, which alone sees the request, and are written
// into the event, so a replay decides the same.
const (
	// a listed robot or link preview; on the reader's requests ([ReaderSide]) also a tool
	RuleBot          = "bot_user_agent"
	RuleNoAgent      = "empty_user_agent" // no user agent; the reader's requests only
	RulePrefetch     = "prefetch"         // Purpose or Sec-Purpose says prefetch
	RuleClickTooFast = "click_too_fast"   // clicked sooner after the auction than a person can
	RuleClickRate    = "click_rate"       // too many clicks of one network ([Network])
	RuleViewRate     = "view_rate"        // too many impressions of one network; the reader's requests only
	// a server reports more clicks for a publisher than the network's click rate allows
	RulePostedRate   = "posted_click_rate"
	RuleNoImpression = "click_without_impression" // no impression of the auction stands before the click in the log
)

// InvalidRules lists the rules in the order in which they are documented.
func InvalidRules() []string {
	return []string{
		RuleBot, RuleNoAgent, RulePrefetch, RuleClickTooFast, RuleClickRate, RuleViewRate, RulePostedRate,
		RuleNoImpression,
	}
}
