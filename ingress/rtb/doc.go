// Package rtb is the OpenRTB 2.6 endpoint: an exchange sends the impressions it has, and our
// campaigns bid for them; later it says what became of the bids.
//
// Contract of POST /api/rtb. A first-price auction for each imp, whatever `at` says, over the same
// snapshot and budgets as every other request; one seatbid with at most one bid an imp. A bid's
// price is the effective CPM of its campaign in USD: never above the stated cpm bid, at least the
// floor. Billing follows the impression tracker in the markup, as for every ad; the notices (nurl,
// lurl, burl) are recorded and never billed. A malformed request is answered 400 with nbr 2; a
// request without a bid 204, or 200 with nbr and the reason for each imp in ext.seatnonbid when the
// request has test or ext.debug. A technical failure is 500 with nbr 1.
//
// Private deals: a campaign names the deals that it may answer (deal_ids). Where imp.pmp names one
// of them whose terms (floor, seats, advertiser domains, kinds of markup) it meets, its bid is for
// the deal: dealid is set, the deal's floor stands in for that of the imp, and a fixed price (at 3)
// is the price of the bid, and of the impression when it is billed per thousand. Of several the
// dearest. With private_auction only deals are bid for; else deals and open bids compete by
// effective CPM. A campaign bids for one imp of a request at most: it has one creative, and one
// person would see it twice.
//
// Which campaign can fill what: image a native or a banner, native a native, video a video.
// bcat and acat are compared with the categories that the operator states for all campaigns
// (ADNET_RTB_CATEGORIES) and with those that its owner states of each, in the IAB's Content
// Taxonomy 1.0, which a bid states, too. A campaign for which nobody states any passes bcat, and is
// refused by acat; in another taxonomy than the request's, categories are refused.
//
// Signals: ext.mcp_context of the imp, then that of the request, field by field; without any intent
// there the words of site, app and content; tagid is the host app where no ext.mcp_context is
// given. The integration method is "openrtb": its pixels and links are the reader's. Nothing that
// identifies a person is read: frequency caps go by ext.mcp_context.session_id, never by user.id or
// a device. regs, user.consent and device.lmt are obeyed (consent.go): without consent there is no
// session either.
//
// Before anything is sold, all texts that a request carries are judged, and what it states of its
// reader and its content (suits.go): once a request, and for an imp what it says itself. Beside
// what is refused there is no bid; the reason for a whole request is then 501, a bidder's own, and
// only a test is told the subject.
//
// # Not obvious
//
// A deal's floor holds for some campaigns only. So a bid's auction runs down to the imp's floor
// over all campaigns, and then, when none won, among the campaigns of the deals down to the
// deals' floors: together exactly the order by effective CPM, without a look at those that
// neither floor lets in.
//
// The values of a bid request are valid until its session ends (reader.go, session.go): texts are
// parts of one copy of the body, lists are reused by the next request. Data that outlives the reply
// must be copied, as the record of the auction is.
package rtb
