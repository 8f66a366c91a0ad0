package httpapi

import "github.com/gin-gonic/gin"

// The offsets and sizes of a page.
const (
	MaxOffset   = 1_000_000
	maxPage     = 500
	defaultPage = 50
)

// Page is the input of a handler that replies with a page of a list: the parameters limit, by default
// 50, and offset of the query. The route's [Params] state the largest limit, at most 500.
type Page struct{ Limit, Offset int }

// Read implements [Input].
func (p *Page) Read(c *gin.Context) (err error) {
	if p.Limit, err = QueryInt(c, "limit", defaultPage, 1, maxPage); err != nil {
		return err
	}
	p.Offset, err = QueryInt(c, "offset", 0, 0, MaxOffset)
	return err
}

// Paged returns the entries of a page of a list that was read with one entry more, and the members
// of the reply: more, limit, offset.
func Paged[T any](list []T, p Page) (page []T, reply Object) {
	return list[:min(p.Limit, len(list))], Object{"more": len(list) > p.Limit, "limit": p.Limit, "offset": p.Offset}
}
