package tokentest

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The defaults exist twice: as tags for the command line and as a value for tests.
func TestLifeEqualsTheTags(t *testing.T) {
	value := reflect.ValueOf(Life())
	for i := range value.NumField() {
		field := value.Type().Field(i)
		want, err := time.ParseDuration(field.Tag.Get("default"))
		require.NoError(t, err, field.Name)
		require.Equal(t, want, time.Duration(value.Field(i).Int()), field.Name)
		require.NotEmpty(t, field.Tag.Get("env"), field.Name)
		require.NotEmpty(t, field.Tag.Get("help"), field.Name)
	}
}
