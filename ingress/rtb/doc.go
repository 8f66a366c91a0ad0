// Package rtb is the OpenRTB 2.6 endpoint: an exchange sends its impressions, our campaigns bid for
// them, and the exchange's notices report the fate of the bids.
//
// Contract of POST /api/rtb. There is a first-price auction for each imp, whatever `at` is, over
// the same snapshot and budgets as every other request, and one seatbid with at most one bid per
// imp. The price of a bid is the effective CPM of its campaign in USD: never above the stated cpm
// bid, and at least the floor. As for every ad, the impression tracker in the markup determines
// billing; the notices (nurl, lurl, burl) are recorded and never billed. A malformed request is
// answered 400 with nbr 2. A request without a bid is answered 204, or 200 with nbr and the reason
// for each imp in ext.seatnonbid if the request has test or ext.debug. A technical failure is 500
// with nbr 1.
//
// Private deals: a campaign names the deals that it may bid for (deal_ids). If imp.pmp has one of
// them and the campaign meets its terms (floor, seats, advertiser domains, kinds of markup), its
// bid is for the deal: dealid is set, the deal's floor replaces that of the imp, and a fixed price
// (at 3) is the price of the bid, and of the impression if it is billed per thousand. Of several
// deals the one with the highest price counts. With private_auction only deals get bids; otherwise
// deals and open bids compete by effective CPM. A campaign may win several imps of a request: each
// has its own auction, reservation and token.
//
// An image fills a native or a banner, a native a native, and a video a video. bcat and acat are
// compared with the categories that the operator states for all campaigns (ADNET_RTB_CATEGORIES)
// and with the categories of each campaign, in the IAB's Content Taxonomy 1.0, which bids also use.
// A campaign without stated categories passes bcat and fails acat. If the request uses another
// taxonomy, the campaign's categories are rejected.
//
// Signals: the fields of ext.mcp_context are read from the imp, then from the request. Without any
// intent there, the words of site, app and content are used. tagid is the host app if there is no
// ext.mcp_context. The integration method is "openrtb": its pixels and links are the reader's.
// Nothing that identifies a person is read: frequency caps use ext.mcp_context.session_id, never
// user.id or a device. regs, user.consent and device.lmt are obeyed (consent.go); without consent
// there is no session either.
//
// Before anything is sold, all texts of a request and its statements about reader and content are
// judged (suits.go), once for the request and then for each imp with its own texts. Refused
// conversations get no bid. The reason for a whole request is then 501, a bidder's own code, and
// only a test gets the subject.
//
// # Not obvious
//
// A deal's floor applies to some campaigns only. So a bid's auction first runs over all campaigns
// down to the imp's floor and then, without a winner, over the campaigns of the deals down to the
// deals' floors. Together this is exactly the order by effective CPM, without checking campaigns
// below both floors.
//
// The values of a bid request are valid until its session ends (reader.go, session.go): texts are
// parts of one copy of the body, and the next request reuses the lists. Data that outlives the
// reply must be copied, like the record of the auction.
package rtb
