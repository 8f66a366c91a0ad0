package httpapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
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
	if len(c.Writer.Header()["Content-Type"]) == 0 {
		c.Header("Content-Type", d.kind)
	}
	sendStatic(c, d.body)
}

// sendStatic answers c with 200 and a body that never changes, without a copy for each client where
// the connection can.
func sendStatic(c *gin.Context, body []byte) {
	c.Status(http.StatusOK)
	var to http.ResponseWriter = c.Writer
	for {
		switch w := to.(type) {
		case interface {
			WriteStatic(body []byte) (int, error)
		}:
			c.Writer.WriteHeaderNow()
			_, _ = w.WriteStatic(body) // fails only if the client is gone
			return
		case interface{ Unwrap() http.ResponseWriter }:
			to = w.Unwrap()
		default:
			_, _ = c.Writer.Write(body)
			return
		}
	}
}

// File is a built file. The first request for a form of it makes the form: at the start of a
// process that would delay it. All replies share the form, so clients that do not read it hold no copies.
type File struct {
	kind, etag string
	content    func() ([]byte, error)
	whole      func() ([]byte, error)
	packed     []packed // smallest first; none of a medium that is compressed already
}

// packed is a compressed form of a file.
type packed struct {
	coding string // for Content-Encoding
	body   func() ([]byte, error)
}

// ReadFiles reads the files of a folder by name. Error: the folder cannot be read.
func ReadFiles(from fs.FS, dir string) (map[string]*File, error) {
	entries, err := fs.ReadDir(from, dir)
	if err != nil {
		return nil, err
	}
	files := map[string]*File{}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		read := func() ([]byte, error) { return fs.ReadFile(from, name) }
		content, err := read()
		if err != nil {
			return nil, err
		}
		files[e.Name()] = newFile(kindOf(e.Name()), content, read)
	}
	return files, nil
}

// NewFile returns a file of content that is made, not built.
func NewFile(kind string, content []byte) *File {
	return newFile(kind, content, func() ([]byte, error) { return content, nil })
}

func newFile(kind string, content []byte, read func() ([]byte, error)) *File {
	f := &File{kind: kind, etag: NewDocument(kind, content).etag, content: read, whole: sync.OnceValues(read)}
	if strings.HasPrefix(kind, "text/") || kind == "image/svg+xml" || kind == "application/json" {
		f.packed = []packed{f.form("br", brotliWriter), f.form("gzip", gzipWriter)}
	}
	return f
}

// form returns a compressed form of the file, which is compressed once.
func (f *File) form(coding string, writer func(io.Writer) io.WriteCloser) packed {
	return packed{coding: coding, body: sync.OnceValues(func() ([]byte, error) {
		content, err := f.Content()
		if err != nil {
			return nil, err
		}
		var short bytes.Buffer
		w := writer(&short)
		_, err = w.Write(content)
		err = errors.Join(err, w.Close())
		return bytes.Clone(short.Bytes()), err
	})}
}

// brotliLevel takes some 10 ms for 100 kB. The highest level takes 20 times as long for 5 % less.
const brotliLevel = 9

func brotliWriter(to io.Writer) io.WriteCloser { return brotli.NewWriterLevel(to, brotliLevel) }

func gzipWriter(to io.Writer) io.WriteCloser {
	w, _ := gzip.NewWriterLevel(to, gzip.BestCompression) // the level exists
	return w
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
	case ".tgz":
		return "application/gzip"
	case ".whl":
		return "application/zip"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// Content returns the uncompressed file.
func (f *File) Content() ([]byte, error) { return f.content() }

// Forever is the Cache-Control of a file with a hash in its name.
const Forever = "public, max-age=31536000, immutable"

// Send answers c with the smallest form of the file that the header Accept-Encoding allows.
func (f *File) Send(c *gin.Context) error {
	c.Header("Vary", "Accept-Encoding")
	form, body := Document{kind: f.kind, etag: f.etag}, f.whole
	for _, p := range f.packed {
		if accepts(c.GetHeader("Accept-Encoding"), p.coding) {
			c.Header("Content-Encoding", p.coding)
			form.etag, body = strings.TrimSuffix(f.etag, `"`)+"-"+p.coding+`"`, p.body
			break
		}
	}
	var err error
	if form.body, err = body(); err != nil {
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
