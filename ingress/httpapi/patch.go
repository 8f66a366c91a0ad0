package httpapi

import (
	"reflect"
	"slices"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/errs"
)

// DecodePatch decodes a JSON merge patch (RFC 7396) into dst, as [Decode] does. A null member
// returns its field to the value in defaults, by the field's name. A field without a default is
// required: its null is errs.InvalidRequest.
//
// read is the object as replies contain it. Its fields that dst lacks are read-only, and ignored, so
// that an object can be sent back as it was read.
func DecodePatch(c *gin.Context, dst any, defaults map[string]jsontext.Value, read any) error {
	return ReadBody(c, func(body []byte) error {
		body, err := withDefaults(without(body, dst, fieldNames(reflect.TypeOf(read))), dst, defaults)
		if err != nil {
			return err
		}
		return decodeObject(body, dst, Exact(c))
	})
}

// AsRead is a body that is decoded into In, and may also contain the other fields of Object: an
// object that a caller has read, or would create, and only asks about.
type AsRead[In, Object any] struct{ In In }

// Read implements [Input].
func (a *AsRead[In, Object]) Read(c *gin.Context) error {
	return ReadBody(c, func(body []byte) error {
		return decodeObject(without(body, &a.In, fieldNames(reflect.TypeFor[Object]())), &a.In, Exact(c))
	})
}

// without returns body without the members that names has and dst has no fields for.
func without(body []byte, dst any, names []string) []byte {
	var members map[string]jsontext.Value
	if json.Unmarshal(body, &members) != nil {
		return body // decodeObject describes the problem
	}
	known, sent := fieldNames(reflect.TypeOf(dst).Elem()), len(members)
	for _, name := range names {
		if !slices.Contains(known, name) {
			delete(members, name)
		}
	}
	if len(members) == sent {
		return body
	}
	rest, err := json.Marshal(members)
	if err != nil {
		return body
	}
	return rest
}

// withDefaults returns body with defaults in place of the null members that dst has fields for.
func withDefaults(body []byte, dst any, defaults map[string]jsontext.Value) ([]byte, error) {
	var members map[string]jsontext.Value
	if json.Unmarshal(body, &members) != nil {
		return body, nil // decodeObject describes the problem
	}
	replaced := false
	for _, name := range fieldNames(reflect.TypeOf(dst).Elem()) {
		if value, sent := members[name]; !sent || value.Kind() != 'n' {
			continue
		}
		value, optional := defaults[name]
		if !optional {
			return nil, errs.New(
				errs.InvalidRequest, "%s is required and cannot be null; omit it to leave it unchanged", name,
			).With("field", name)
		}
		members[name], replaced = value, true
	}
	if !replaced {
		return body, nil
	}
	return json.Marshal(members)
}
