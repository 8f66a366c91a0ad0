package oversee

import (
	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/account"
)

// The origins of a setting's value.
const (
	FromDefault     = "default"
	FromEnvironment = "environment"
	FromFile        = "file" // named by the variable with _FILE
	FromFlag        = "flag"
)

// Setting is one setting of this process. Value and Default contain no secret: the code that
// creates a Setting masks them.
type Setting struct {
	Name    string `json:"name"` // of the environment variable
	Flag    string `json:"flag"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Origin  string `json:"origin"`
	Secret  bool   `json:"secret"` // whether the value, or a part of it, is masked
	Help    string `json:"help"`
}

// settings serves GET /api/admin/settings.
func (a *API) settings(*gin.Context, account.User, httpapi.None) (httpapi.Object, error) {
	list := a.deps.Settings
	if list == nil {
		list = []Setting{}
	}
	return httpapi.Object{"settings": list}, nil
}
