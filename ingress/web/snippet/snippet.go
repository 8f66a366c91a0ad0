// Package snippet serves adnet.js, the script of <adnet-ad>, which publishers include in their
// pages.
//
// The script is built from web/sdk by web/build and embedded. /sdk/adnet.js is the newest version,
// cached for five minutes. /sdk/adnet.HASH.js never changes, and pages that use it state its
// integrity. Pages of any origin may load both: they contain no personal data.
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
	files           map[string]*httpapi.File // the files with a hash in their name, and the newest
	name, integrity string
}

// New reads the built script. Errors: the build is incomplete.
func New() (*Script, error) {
	files, err := httpapi.ReadFiles(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("adnet.js: %w", err)
	}
	script := files[newest]
	if script == nil {
		return nil, errors.New("adnet.js is not built: make console")
	}
	content, err := script.Content()
	if err != nil {
		return nil, fmt.Errorf("adnet.js: %w", err)
	}
	hash, integrity := sha256.Sum256(content), sha512.Sum384(content)
	s := &Script{
		files: files, name: "adnet." + hex.EncodeToString(hash[:8]) + ".js",
		integrity: "sha384-" + base64.StdEncoding.EncodeToString(integrity[:]),
	}
	// Files of earlier releases stay in dist under their own names, so that pages with their
	// address still work after an upgrade.
	files[s.name] = script
	return s, nil
}

// Path returns the path, below the base URL, of the file whose content never changes.
func (s *Script) Path() string { return path + s.name }

// Integrity returns the value of the integrity attribute for that file.
func (s *Script) Integrity() string { return s.integrity }

// Mount adds the route to h. The route has no limit: readers of a page may share an address, and a
// reply costs only a copy of some kilobytes.
func (s *Script) Mount(h *httpapi.Server) {
	h.Handle(http.MethodGet, path+":file", httpapi.Plain(s.file), httpapi.Policy{
		Limit: httpapi.LimitNone, Auth: httpapi.Anyone, Embedded: true,
	})
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
	return f.Send(c)
}
