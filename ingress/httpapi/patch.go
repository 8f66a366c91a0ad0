package httpapi

import (
	"reflect"

	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"adnet/internal/errs"
)

// DecodePatch decodes a JSON merge patch (RFC 7396) into dst, as [Decode] does. A null member
// returns its field to the value in defaults, by the field's name. A field without a default is
// required: its null is errs.InvalidRequest.
func DecodePatch(c *gin.Context, dst any, defaults map[string]jsontext.Value) error {
	return ReadBody(c, func(body []byte) error {
		body, err := withDefaults(body, dst, defaults)
		if err != nil {
			return err
		}
		return Unmarshal(body, dst)
	})
}

// withDefaults returns body with defaults in place of the null members that dst has fields for.
func withDefaults(body []byte, dst any, defaults map[string]jsontext.Value) ([]byte, error) {
	var members map[string]jsontext.Value
	if json.Unmarshal(body, &members) != nil {
		return body, nil // Unmarshal describes the problem
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
