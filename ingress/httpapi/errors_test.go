package httpapi

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"adnet/ingress/httpapi/apitest"
	"adnet/internal/errs"
)

// codes reads the constants of internal/errs from its source, so that a new one cannot be forgotten
// here.
func codes(t *testing.T) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), "../../internal/errs/errs.go", nil, 0)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is {
			return true
		}
		if kind, is := spec.Type.(*ast.Ident); is && kind.Name == "Code" {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			all = append(all, value)
		}
		return true
	})
	require.Greater(t, len(all), 10)
	return all
}

func TestEveryCodeHasAStatusAndIsDocumented(t *testing.T) {
	all := codes(t)
	for _, code := range all {
		require.Contains(t, statusOf, errs.Code(code))
	}
	require.Len(t, statusOf, len(all))
	require.ElementsMatch(t, all, apitest.Load(t).Enum(t, "Error", "code"))
}

// The specification's table of errors, literally.
func TestStatusTable(t *testing.T) {
	for code, status := range map[errs.Code]int{
		"invalid_request": 400, "insufficient_credit": 400, "missing_context": 400, "invalid_token": 401,
		"missing_authorization": 401, "invalid_credentials": 401, "forbidden": 403, "method_not_allowed": 405,
		"rate_limited": 429, "demo_mode": 503, "retired": 410, "payload_too_large": 413, "conflict": 409,
		"not_found": 404,
	} {
		require.Equal(t, status, Status(code), code)
	}
	require.GreaterOrEqual(t, Status(errs.UpstreamError), 500)
	require.Equal(t, http.StatusInternalServerError, Status("unheard_of"))
}
