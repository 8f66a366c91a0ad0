package mcp

import "adnet/internal/jsonscan"

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
	r.content.Scan(in)
	if r.understood = !in.Odd(); !r.understood {
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
