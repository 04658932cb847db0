package httpapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	swaggerui "github.com/swaggest/swgui/v5/static"
)

// docsFiles are the page's own files. The rest of it is Swagger UI's, which a module
// carries, so that the page needs no other host.
//
//go:embed docs
var docsFiles embed.FS

// docsPage is the name of the page among the files of the documentation.
const docsPage = "index.html"

// docsPolicy lets the page load what this server has, and nothing else: no script
// that stands in the page, no other host, no frame around it. Swagger UI sets styles
// of elements, and its style sheet carries its pictures.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// docsCaching has a browser ask each time whether a file still stands: the files of
// two builds don't belong together.
const docsCaching = "no-cache"

// docsFile is a file of the documentation.
type docsFile struct {
	media  string
	packed []byte // by gzip
	size   int64  // unpacked, in bytes
	tag    string // a weak one, since it stands for both
}

// documentation is the page at /docs and what it loads, by their names.
type documentation map[string]*docsFile

func newDocumentation() (documentation, error) {
	d := make(documentation)
	for name, media := range map[string]string{
		docsPage:   "text/html; charset=utf-8",
		"start.js": "text/javascript; charset=utf-8",
		"page.css": "text/css; charset=utf-8",
	} {
		text, err := fs.ReadFile(docsFiles, "docs/"+name)
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(text) // to memory
		w.Close()
		if err := d.add(name, media, packed.Bytes()); err != nil {
			return nil, err
		}
	}
	for name, media := range map[string]string{
		"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
		"swagger-ui.css":       "text/css; charset=utf-8",
	} {
		packed, err := fs.ReadFile(swaggerui.FS, name+".gz")
		if err != nil {
			return nil, err
		}
		if err := d.add(name, media, packed); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// add takes a file that is packed by gzip.
func (d documentation) add(name, media string, packed []byte) error {
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("%s of the documentation: %w", name, err)
	}
	hash := sha256.New()
	size, err := io.Copy(hash, text)
	if err != nil {
		return fmt.Errorf("%s of the documentation: %w", name, err)
	}
	d[name] = &docsFile{media: media, packed: packed, size: size, tag: fmt.Sprintf(`W/"%x"`, hash.Sum(nil)[:16])}
	return nil
}

// GetDocs serves GET /docs.
func (s *server) GetDocs(ctx context.Context, request GetDocsRequestObject) (GetDocsResponseObject, error) {
	return s.documentation[docsPage].answer(ctx, request.Params.IfNoneMatch), nil
}

// GetDocsFile serves GET /docs/{file}.
func (s *server) GetDocsFile(ctx context.Context, request GetDocsFileRequestObject) (GetDocsFileResponseObject, error) {
	file := s.documentation[request.File]
	if file == nil || request.File == docsPage {
		return nil, echo.ErrNotFound
	}
	return file.answer(ctx, request.Params.IfNoneMatch), nil
}

// docsAnswer is a file, or that the caller has it.
type docsAnswer struct {
	file   *docsFile
	packed bool // as the caller takes it
	known  bool // to the caller, by its tag
}

func (f *docsFile) answer(ctx context.Context, known *string) docsAnswer {
	return docsAnswer{
		file:   f,
		packed: accepts(callOf(ctx).encodings, "gzip"),
		known:  known != nil && lists(*known, f.tag[len("W/"):]),
	}
}

// VisitGetDocsResponse writes the page.
func (a docsAnswer) VisitGetDocsResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Security-Policy", docsPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	return a.write(w)
}

// VisitGetDocsFileResponse writes what the page loads.
func (a docsAnswer) VisitGetDocsFileResponse(w http.ResponseWriter) error { return a.write(w) }

func (a docsAnswer) write(w http.ResponseWriter) error {
	h := w.Header()
	h.Set("ETag", a.file.tag)
	h.Set("Cache-Control", docsCaching)
	h.Set("Vary", "Accept-Encoding")
	if a.known {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", a.file.media)
	h.Set("X-Content-Type-Options", "nosniff")
	if a.packed {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(a.file.packed)))
		_, err := w.Write(a.file.packed)
		return err
	}
	text, err := gzip.NewReader(bytes.NewReader(a.file.packed))
	if err != nil {
		return err
	}
	h.Set("Content-Length", strconv.FormatInt(a.file.size, 10))
	_, err = io.Copy(w, text)
	return err
}
