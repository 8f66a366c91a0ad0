// Package snippet serves adnet.js, the script of <adnet-ad>, which publishers put into their pages.
//
// It is built from web/sdk by web/build and embedded. /sdk/adnet.js is always the newest, kept for
// five minutes; /sdk/adnet.HASH.js never changes, and a page that names it states its integrity.
// Pages of any origin may load both: they hold nothing of anybody.
package snippet

import (
	"crypto/sha256"
	"crypto/sha512"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

//go:embed dist
var built embed.FS

const (
	newest = "adnet.js"
	path   = "/sdk/"
)

// Script is the built script.
type Script struct {
	files           map[string]*httpapi.File // those with a hash in their names, and the newest
	name, integrity string
}

// New reads the built script. Errors: the build is not whole.
func New() (*Script, error) {
	files, err := httpapi.ReadFiles(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("adnet.js: %w", err)
	}
	script := files[newest]
	if script == nil {
		return nil, errors.New("adnet.js is not built: make console")
	}
	hash, integrity := sha256.Sum256(script.Content()), sha512.Sum384(script.Content())
	s := &Script{
		files: files, name: "adnet." + hex.EncodeToString(hash[:8]) + ".js",
		integrity: "sha384-" + base64.StdEncoding.EncodeToString(integrity[:]),
	}
	// Files of earlier releases stay beside the newest in dist, under their own names: pages that
	// name them go on after an upgrade.
	files[s.name] = script
	return s, nil
}

// Path is where the file is whose content never changes, below the base URL.
func (s *Script) Path() string { return path + s.name }

// Integrity is what a page states of that file, in the attribute integrity.
func (s *Script) Integrity() string { return s.integrity }

// Mount adds the route to h. It has no limit: the readers of a page may share an address, and an
// answer costs a copy of some kilobytes.
func (s *Script) Mount(h *httpapi.Server) {
	h.Handle(http.MethodGet, path+":file", s.file, httpapi.Policy{Limit: httpapi.LimitNone, Auth: httpapi.Anyone})
}

func (s *Script) file(c *gin.Context) error {
	f := s.files[c.Param("file")]
	if f == nil {
		return errs.New(errs.NotFound, "no such file; /sdk/adnet.js is the newest")
	}
	c.Header("Cache-Control", httpapi.Forever)
	if c.Param("file") == newest {
		c.Header("Cache-Control", "public, max-age=300")
	}
	c.Header("Access-Control-Allow-Origin", "*")
	c.Header("Cross-Origin-Resource-Policy", "cross-origin")
	f.Send(c)
	return nil
}
