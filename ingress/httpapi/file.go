package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/gin-gonic/gin"
)

// Document is a body that clients may cache.
type Document struct {
	kind, etag string
	body       []byte
}

// NewDocument returns a document of a media type.
func NewDocument(kind string, body []byte) Document {
	sum := sha256.Sum256(body)
	return Document{kind: kind, etag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
}

// Send answers c with the document, or with 304 if the client has the current version.
func (d *Document) Send(c *gin.Context) {
	c.Header("ETag", d.etag)
	for known := range strings.SplitSeq(c.GetHeader("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == d.etag || known == "*" {
			c.Status(http.StatusNotModified)
			return
		}
	}
	Send(c, http.StatusOK, d.kind, d.body)
}

// File is a built file with its compressed forms. It stays in the executable: each reply reads it,
// because copies of all files would be megabytes in the memory of each node.
type File struct {
	from       fs.FS
	name       string // in from
	kind, etag string
	packed     []string // codings for Content-Encoding, smallest first
}

// endings are the endings of compressed forms, by coding.
var endings = map[string]string{"br": ".br", "gzip": ".gz"}

// codingOf returns the coding of a compressed form; empty for any other file.
func codingOf(name string) string {
	for coding, ending := range endings {
		if path.Ext(name) == ending {
			return coding
		}
	}
	return ""
}

// ReadFiles reads the files of a folder by name. NAME.br and NAME.gz are compressed forms of NAME.
// Errors: the folder cannot be read, or a file exists only in compressed form.
func ReadFiles(from fs.FS, dir string) (map[string]*File, error) {
	entries, err := fs.ReadDir(from, dir)
	if err != nil {
		return nil, err
	}
	files := map[string]*File{}
	for _, e := range entries { // sorted: NAME, NAME.br, NAME.gz
		coding := codingOf(e.Name())
		if coding == "" {
			f := &File{from: from, name: path.Join(dir, e.Name()), kind: kindOf(e.Name())}
			content, err := f.Content()
			if err != nil {
				return nil, err
			}
			f.etag = NewDocument(f.kind, content).etag
			files[e.Name()] = f
			continue
		}
		of := files[strings.TrimSuffix(e.Name(), path.Ext(e.Name()))]
		if of == nil {
			return nil, fmt.Errorf("%s exists without its uncompressed file", e.Name())
		}
		of.packed = append(of.packed, coding)
	}
	return files, nil
}

// kindOf returns the media type of a file. Common types are fixed here, independent of the
// machine's own table.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".webm":
		return "video/webm"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// Content returns the uncompressed file.
func (f *File) Content() ([]byte, error) { return fs.ReadFile(f.from, f.name) }

// Forever is the Cache-Control of a file with a hash in its name.
const Forever = "public, max-age=31536000, immutable"

// Send answers c with the smallest form of the file that the header Accept-Encoding allows.
func (f *File) Send(c *gin.Context) error {
	c.Header("Vary", "Accept-Encoding")
	form, name := Document{kind: f.kind, etag: f.etag}, f.name
	for _, coding := range f.packed {
		if accepts(c.GetHeader("Accept-Encoding"), coding) {
			c.Header("Content-Encoding", coding)
			form.etag, name = strings.TrimSuffix(f.etag, `"`)+"-"+coding+`"`, f.name+endings[coding]
			break
		}
	}
	var err error
	if form.body, err = fs.ReadFile(f.from, name); err != nil {
		return err
	}
	form.Send(c)
	return nil
}

// accepts reports whether the header names a coding without rejecting it (RFC 9110, section
// 12.5.3).
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, parameters, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			return weightOf(parameters) > 0
		}
	}
	return false
}
