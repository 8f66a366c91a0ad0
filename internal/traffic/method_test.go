package traffic

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServersCannotStateThatPeopleRead(t *testing.T) {
	for _, method := range append(Methods(), "", "another") {
		require.Equal(t, method != MethodRTB, ReadByModels(method, false), method)
		require.Equal(t, method == MethodMCP, ReadByModels(method, true), method)
	}
}
