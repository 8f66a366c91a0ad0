package traffic

// The integration methods: how an ad reaches its reader. They are in tokens, targeting and stats; a
// closed list.
const (
	MethodMCP     = "mcp"        // a tool call of a language model's host
	MethodSnippet = "js_snippet" // a script on the publisher's page
	MethodSDK     = "npm_sdk"    // the npm package, in the publisher's page
	MethodREST    = "rest"       // the publisher's server
	MethodRTB     = "openrtb"    // a bid request of an exchange
)

// Methods lists the integration methods.
func Methods() []string {
	return []string{MethodMCP, MethodSnippet, MethodSDK, MethodREST, MethodRTB}
}

// ReaderSide reports whether the pixels and reports of an ad come from the reader's device, so that
// headers and address are the reader's own. For mcp and rest they may be those of the publisher's
// server. A link is always followed by the reader.
func ReaderSide(method string) bool {
	return method == MethodSnippet || method == MethodSDK || method == MethodRTB
}

// ReportsViews reports whether the reader's page reports the views of an ad.
func ReportsViews(method string) bool { return method == MethodSnippet || method == MethodSDK }

// ReadByModels reports whether a model may read ads of the method. page reports whether a page asks
// with a key of its own that people read. Without one, a server asks, and its statement that a page
// shows the ad proves nothing: only an exchange counts as pages.
func ReadByModels(method string, page bool) bool {
	return method == MethodMCP || method != MethodRTB && !page
}

// Method returns method if the list has it, else "".
func Method(method string) string { return listed(method, Methods()) }

// Format returns format if it is a known format of requests or ads, else "".
func Format(format string) string { return listed(format, formats[:]) }

var formats = [...]string{"image", "video", "native", "banner", "embed", "card", "text"}

// listed keeps foreign words out of dictionaries and groups: they hold only our own.
func listed(word string, list []string) string {
	for _, known := range list {
		if word == known {
			return known
		}
	}
	return ""
}
