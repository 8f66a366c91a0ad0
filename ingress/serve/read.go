package serve

import (
	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/internal/jsonscan"
)

// decode reads a body into r. It reads a plain body in one pass; [httpapi.UnmarshalLoose] reads all
// others and reports every error.
func decode(body []byte, r *offer.Request) error {
	if read(string(body), r) {
		return nil
	}
	*r = offer.Request{}
	return httpapi.UnmarshalLoose(body, r)
}

// read decodes a plain body; it returns false for any other.
func read(text string, r *offer.Request) bool {
	in := jsonscan.Read(text)
	o := in.Object()
	for name, more := o.Next(); more; name, more = o.Next() {
		switch name {
		case "context":
			r.Context = in.Text()
		case "messages":
			r.Messages = offer.ReadMessages(&in)
		case "min_relevance":
			r.MinRelevance = offer.ReadShare(&in)
		case "format":
			r.Format = in.Text()
		case "placement":
			r.Placement = in.Text()
		case "platform":
			r.Platform = in.Text()
		case "active_tools":
			r.ActiveTools = in.Texts()
		case "host_app":
			r.HostApp = in.Text()
		case "user_region":
			r.UserRegion = in.Text()
		case "user_language":
			r.UserLanguage = in.Text()
		case "session_id":
			r.SessionID = in.Text()
		case "turn":
			r.Turn = in.Int()
		case "first_ad_turn":
			r.FirstAdTurn = in.Int()
		case "turns_between_ads":
			r.TurnsBetweenAds = in.Int()
		case "integration_method":
			r.Integration = in.Text()
		case "consent":
			r.Consent.Scan(&in)
		case "suitability":
			r.Suitability.Scan(&in)
		default:
			in.Decline() // may be a known name in different case
		}
	}
	return in.Done()
}
