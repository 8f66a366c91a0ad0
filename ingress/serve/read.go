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
	r.Scan(&in)
	return in.Done()
}
