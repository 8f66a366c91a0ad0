package httpapi

import (
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"adnet/internal/account"
)

// Do returns the Handler of a function of values. The engine admits the caller by the route's
// [Policy], then reads the input, and answers with the output: first credentials, then the body.
//
// For a key, caller has only the publisher. The type of the input states what is read: a body
// ([Decode]) or an [Input], such as [None], [ID], [Of] and [Optional]. An output is answered as JSON
// with status 200, unless it is a [Reply]. A route for [Anyone] uses [Open]: with Do it is not
// mounted. The route is exact: it refuses what its policy and its input do not name ([Exact]).
func Do[In, Out any](f func(c *gin.Context, caller account.User, in In) (Out, error)) Handler {
	return Handler{answer: func(c *gin.Context) error {
		return run(c, func(in In) (Out, error) { return f(c, of(c).caller.user, in) })
	}, caller: true, exact: true}
}

// Open is [Do] for a route that does not know its caller.
func Open[In, Out any](f func(c *gin.Context, in In) (Out, error)) Handler {
	return Handler{answer: func(c *gin.Context) error {
		return run(c, func(in In) (Out, error) { return f(c, in) })
	}, exact: true}
}

func run[In, Out any](c *gin.Context, f func(in In) (Out, error)) error {
	var in In
	if err := read(c, &in); err != nil {
		return err
	}
	out, err := f(in)
	if err != nil {
		return err
	}
	if reply, is := any(out).(Reply); is {
		return reply.send(c)
	}
	return JSON(c, http.StatusOK, out)
}

// Input is a type that reads itself from a request. Errors: errs.InvalidRequest.
type Input interface{ Read(c *gin.Context) error }

// read reads in, a pointer, which is an Input or the body.
func read(c *gin.Context, in any) error {
	if own, is := in.(Input); is {
		return own.Read(c)
	}
	return Decode(c, in)
}

// None is the input of a handler that needs none, or reads parameters of the query itself. A body
// may be missing or an empty object.
type None struct{}

// Read implements [Input].
func (*None) Read(c *gin.Context) error {
	if method := of(c).method; method == http.MethodGet || method == http.MethodHead {
		return nil
	}
	return DecodeOptional(c, &struct{}{})
}

// Of is the parameter id of the path, with the input In.
type Of[In any] struct {
	ID uuid.UUID
	In In
}

// ID is the parameter id of the path.
type ID = Of[None]

// Read implements [Input].
func (o *Of[In]) Read(c *gin.Context) (err error) {
	if o.ID, err = ParseID("id", c.Param("id")); err != nil {
		return err
	}
	return read(c, &o.In)
}

// Optional is a body that may be missing; In is zero then.
type Optional[In any] struct{ In In }

// Read implements [Input].
func (o *Optional[In]) Read(c *gin.Context) error { return DecodeOptional(c, &o.In) }

// Object is a JSON object in a reply.
type Object = map[string]any

// Reply is an answer other than a JSON text with status 200.
type Reply struct{ send func(c *gin.Context) error }

// With returns v as JSON with a status.
func With(status int, v any) Reply {
	return Reply{func(c *gin.Context) error { return JSON(c, status, v) }}
}

// Table returns v as JSON, or as CSV if the caller requests it: the rows, with a header, in a file
// named name.csv.
func Table(name string, v any, rows func() [][]string) Reply {
	return Reply{func(c *gin.Context) error {
		if WantsCSV(c) {
			return CSV(c, name, rows())
		}
		return JSON(c, http.StatusOK, v)
	}}
}

// CSVFile returns rows as CSV, as [CSV] does.
func CSVFile(name string, rows [][]string) Reply {
	return Reply{func(c *gin.Context) error { return CSV(c, name, rows) }}
}

// Attachment returns a CSV text as a file named name.csv.
func Attachment(name string, text []byte) Reply {
	return Reply{func(c *gin.Context) error { return SendCSV(c, name, text) }}
}
