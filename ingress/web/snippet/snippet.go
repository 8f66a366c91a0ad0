// Package snippet serves adnet.js, the script of <adnet-ad>, which publishers include in their
// pages, and the SDKs for their servers.
//
// The script is built from web/sdk by web/build and embedded. /sdk/adnet.js is the newest version,
// cached for five minutes. /sdk/adnet.HASH.js never changes, and pages that use it state its
// integrity. Pages of any origin may load both: they contain no personal data.
//
// The SDKs are archives that npm and pip install from their address, made by deploy/packages.sh and
// embedded, since no registry has them yet.
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
	"path/filepath"

	"github.com/gin-gonic/gin"

	"adnet/ingress/httpapi"
	"adnet/internal/errs"
)

//go:embed dist packages
var built embed.FS

const (
	newest = "adnet.js"
	path   = "/sdk/"
)

// Script is the built script.
type Script struct {
	files           map[string]*httpapi.File // the files with a hash in their name, and the newest
	name, integrity string
	npm, python     string // names of the archives
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
	return s, s.addPackages()
}

// addPackages adds the archives of the SDKs.
func (s *Script) addPackages() error {
	archives, err := httpapi.ReadFiles(built, "packages")
	if err != nil {
		return fmt.Errorf("SDKs: %w", err)
	}
	for name, archive := range archives {
		switch filepath.Ext(name) {
		case ".tgz":
			s.npm = name
		case ".whl":
			s.python = name
		default:
			continue
		}
		s.files[name] = archive
	}
	if s.npm == "" || s.python == "" {
		return errors.New("the SDKs are not built: make packages")
	}
	return nil
}

// Packages returns the paths, below the base URL, of the SDKs that npm and pip install.
func (s *Script) Packages() (npm, python string) { return path + s.npm, path + s.python }

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
	switch c.Param("file") {
	case newest, s.npm, s.python: // their names stay when their content changes
		c.Header("Cache-Control", "public, max-age=300")
	}
	c.Header("Access-Control-Allow-Origin", "*")
	return f.Send(c)
}
