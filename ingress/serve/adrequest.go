package serve

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/ingress/offer"
	"adnet/internal/compliance/consent"
)

// adRequest serves POST /v1/ad-request.
func (s *Server) adRequest(c *gin.Context, caller httpapi.Caller) error {
	if err := s.deps.Ads.Admit(caller); err != nil {
		return err
	}
	exchange := s.exchanges.Get().(*exchange)
	defer s.exchanges.Put(exchange)
	defer exchange.forget()
	in, answer := &exchange.request, &exchange.answer
	if err := httpapi.ReadBody(c, exchange.decode); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	in.Method = in.IntegrationOf(caller)
	if consent.GPC(c.Request.Header) {
		in.Consent.GPC = consent.Yes
	}
	if err := s.deps.Ads.Answer(c.Request.Context(), caller, in, answer); err != nil {
		return err
	}
	return httpapi.Appended(c, http.StatusOK, func(dst []byte) ([]byte, error) {
		if answer.Creative == nil {
			return appendNone(dst, answer)
		}
		return AppendReply(dst, &answer.Ad)
	})
}

// exchange holds the memory of one POST /v1/ad-request, for reuse.
type exchange struct {
	request offer.Request
	answer  offer.Answer
}

func (a *exchange) decode(body []byte) error { return decode(body, &a.request) }

// forget clears the request and the answer, except for the token's buffer.
func (a *exchange) forget() {
	a.request = offer.Request{}
	a.answer.Reset()
}
