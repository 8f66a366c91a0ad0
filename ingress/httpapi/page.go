package httpapi

import "github.com/gin-gonic/gin"

// MaxOffset is the largest offset of a page.
const MaxOffset = 1_000_000

// ReadPage reads the query parameters limit, at most most, and offset. Without limit it is usual.
// Errors: errs.InvalidRequest.
func ReadPage(c *gin.Context, usual, most int) (limit, offset int, err error) {
	if limit, err = QueryInt(c, "limit", usual, 1, most); err != nil {
		return 0, 0, err
	}
	offset, err = QueryInt(c, "offset", 0, 0, MaxOffset)
	return limit, offset, err
}

// Paged returns the entries of a page of a list that was read with one entry more, and the members
// of the reply: more, limit, offset.
func Paged[T any](list []T, limit, offset int) (page []T, reply map[string]any) {
	return list[:min(limit, len(list))], map[string]any{"more": len(list) > limit, "limit": limit, "offset": offset}
}
