package campaign

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// The JSON of a campaign has the fields of the table, in its order.
func TestTableHasEveryField(t *testing.T) {
	full := whole()
	text, err := json.Marshal(&full)
	require.NoError(t, err)
	require.Equal(t, namesIn(t, text), namesOf(Table))
	text, err = json.Marshal(full.Approved)
	require.NoError(t, err)
	require.Equal(t, namesIn(t, text), namesOf(CreativeTable))
}

func namesOf[T any](rows []Row[T]) (names []string) {
	for _, f := range rows {
		names = append(names, f.Name)
	}
	return names
}

func namesIn(t *testing.T, object []byte) (names []string) {
	t.Helper()
	in := jsontext.NewDecoder(bytes.NewReader(object))
	_, err := in.ReadToken()
	require.NoError(t, err)
	for in.PeekKind() == '"' {
		name, err := in.ReadToken()
		require.NoError(t, err)
		names = append(names, name.String())
		require.NoError(t, in.SkipValue())
	}
	return names
}

// Owners set exactly the fields that the table gives them.
func TestOwnersSetTheFieldsOfTheTable(t *testing.T) {
	var owned []string
	for _, f := range Table {
		if f.By == ByOwner {
			owned = append(owned, f.Name)
		}
	}
	var names []string
	for i, of := 0, reflect.TypeFor[Fields](); i < of.NumField(); i++ {
		names = append(names, of.Field(i).Tag.Get("json"))
	}
	require.ElementsMatch(t, names, owned)
}
