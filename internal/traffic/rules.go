// Package traffic holds the rules of invalid traffic: the rules for invalid events, for anomalous
// days of publishers, and for the part of a caller's address that may be counted or stored. It
// judges numbers and names and does no I/O. The cost of a verdict is decided by internal/ledger.
package traffic

// The rules that make traffic invalid: a closed list. An event found by one of them is recorded
// with the verdict "invalid_traffic:" and the rule's name, is answered like any other, costs
// nothing, earns nothing, and does not use up the deduplication key of the real event. It counts
// once per auction and event type, unless a valid one was recorded: repeats are duplicates.
// Ingress, which alone sees the request, decides all but [RuleNoImpression] and [RuleManyActs] and
// writes them into the event, so a replay decides the same. Settlement counts [RuleClickRate] once
// more, by network, campaign and day.
const (
	// a listed robot or link preview; on the reader's requests ([ReaderSide]) also a tool
	RuleBot          = "bot_user_agent"
	RuleNoAgent      = "empty_user_agent" // no user agent; the reader's requests only
	RulePrefetch     = "prefetch"         // Purpose or Sec-Purpose contains prefetch
	RuleClickTooFast = "click_too_fast"   // the click came sooner after the auction than a person can
	RuleClickRate    = "click_rate"       // too many clicks of one reader, address or network ([Network])
	RuleViewRate     = "view_rate"        // too many impressions of one network; the reader's requests only
	// the posted clicks of a publisher exceed the network's click rate
	RulePostedRate   = "posted_click_rate"
	RuleViewTooFast  = "view_too_fast"            // the view came sooner after the auction than half an ad can be in view
	RulePostedViews  = "posted_view_rate"         // the same as posted_click_rate for views
	RuleNoImpression = "click_without_impression" // the log has no impression of the auction before the click
	RuleManyActs     = "many_acts"                // an act that waited for a case, which was decided against it
)

// InvalidRules lists the rules in the order of the documentation.
func InvalidRules() []string {
	return []string{
		RuleBot, RuleNoAgent, RulePrefetch, RuleClickTooFast, RuleClickRate, RuleViewTooFast, RuleViewRate,
		RulePostedRate, RulePostedViews, RuleNoImpression, RuleManyActs,
	}
}
