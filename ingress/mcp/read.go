package mcp

import (
	"adnet/ingress/offer"
	"adnet/internal/jsonscan"
)

// decode reads one message into r. A plain message takes one pass, arguments of
// get_sponsored_content included. The general decoder reads any other message, and every error.
// With a failure r holds the part that was understood, so that its id can be echoed.
func (r *call) decode(body []byte) (f *failure) {
	if r.read(string(body)) {
		return nil
	}
	r.content, r.understood = contentArguments{}, false
	r.message, f = decode(body)
	return f
}

// read decodes a plain message. It returns false for any other.
func (r *call) read(text string) bool {
	in := jsonscan.Read(text)
	r.message = message{}
	version := ""
	o := in.Object()
	for name, more := o.Next(); more; name, more = o.Next() {
		switch name {
		case "jsonrpc":
			version = in.Text()
		case "id":
			r.id = in.Raw()
		case "method":
			r.method = in.Text()
		case "params":
			r.readParams(&in)
		default:
			in.Skip()
		}
	}
	return in.Done() && version == "2.0" && r.method != "" && (r.notification() || echoes(r.id))
}

func (r *call) readParams(in *jsonscan.Reader) {
	o := in.Object()
	for name, more := o.Next(); more; name, more = o.Next() {
		switch name {
		case "protocolVersion":
			r.params.protocolVersion = in.Text()
		case "capabilities":
			r.params.capabilities = in.Raw()
		case "uri":
			r.params.uri = in.Text()
		case "name":
			r.params.name = in.Text()
		case "arguments":
			r.readArguments(in)
		case "_meta":
			r.readMeta(in)
		default:
			in.Skip()
		}
	}
}

// readArguments stores the text of the arguments, and reads them as those of get_sponsored_content,
// the most frequent tool. The name of the tool may be unknown until later in the message.
func (r *call) readArguments(in *jsonscan.Reader) {
	at, again := in.At(), *in
	if r.understood = in.Peek() == '{' && r.content.read(in); !r.understood {
		*in = again
		in.Skip()
	}
	r.params.arguments = in.Since(at)
}

func (r *call) readMeta(in *jsonscan.Reader) {
	o := in.Object()
	for name, more := o.Next(); more; name, more = o.Next() {
		switch name {
		case metaVersion:
			r.params.version = in.Text()
		case metaCapabilities:
			r.params.abilities = in.Raw()
		default:
			in.Skip()
		}
	}
}

// read reads plain arguments. It returns false for any others.
func (a *contentArguments) read(in *jsonscan.Reader) bool {
	o := in.Object()
	for name, more := o.Next(); more; name, more = o.Next() {
		switch name {
		case "context_summary":
			a.ContextSummary = in.Text()
		case "host":
			a.Host = in.Text()
		case "user_region":
			a.UserRegion = in.Text()
		case "user_language":
			a.UserLanguage = in.Text()
		case "session_len_min":
			a.SessionLenMin = in.Float()
		case "developer_api_key":
			a.DeveloperAPIKey = in.Text()
		case "context":
			a.Context = in.Text()
		case "messages":
			a.Messages = offer.ReadMessages(in)
		case "min_relevance":
			a.MinRelevance = offer.ReadShare(in)
		case "active_tools":
			a.ActiveTools = in.Texts()
		case "host_app":
			a.HostApp = in.Text()
		case "surface":
			a.Surface = in.Text()
		case "session_id":
			a.SessionID = in.Text()
		case "turn":
			a.Turn = in.Int()
		case "first_ad_turn":
			a.FirstAdTurn = in.Int()
		case "turns_between_ads":
			a.TurnsBetweenAds = in.Int()
		case "consent":
			a.Consent.Scan(in)
		case "suitability":
			a.Suitability.Scan(in)
		default:
			in.Decline() // may be a known name in another case
		}
	}
	return !in.Odd()
}
