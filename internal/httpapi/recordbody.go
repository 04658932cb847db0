package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// bodyCaching lets a caller keep a body, and ask each time whether it still stands.
const bodyCaching = "private, no-cache"

// GetBody serves GET and HEAD of
// /v1/collections/{collection}/records/{key}/sections/{section}/body.
func (s *server) GetBody(ctx context.Context, request GetBodyRequestObject) (GetBodyResponseObject, error) {
	if known := request.Params.IfNoneMatch; known != nil || isHead(ctx) {
		stat, err := s.records.Stat(ctx, caller(ctx), request.Collection, request.Key, request.Section)
		switch {
		case err != nil:
			return nil, err
		case known != nil && lists(*known, digestTag(stat.Digest)):
			return notModified(stat.Section), nil
		case isHead(ctx):
			return bodyHead(stat.Section), nil
		}
	}
	body, err := s.records.Body(ctx, caller(ctx), request.Collection, request.Key, request.Section)
	if err != nil {
		return nil, err
	}
	callOf(ctx).atEnd(body.Close)
	return &bodyAnswer{body.Section, request.Params}, nil
}

func digestTag(d record.Digest) string { return `"` + d.String() + `"` }

// lists tells whether a list of entity tags (RFC 9110, section 13.1.2) has one. The
// comparison is weak, and ours hold no commas.
func lists(header, tag string) bool {
	for listed := range strings.SplitSeq(header, ",") {
		listed = strings.TrimSpace(listed)
		if listed == "*" || strings.TrimPrefix(listed, "W/") == tag {
			return true
		}
	}
	return false
}

// setBodyHeaders are those of a body that is sent, whole or in part.
func setBodyHeaders(h http.Header, s *record.Section) {
	h.Set("ETag", digestTag(s.Digest))
	h.Set("Cache-Control", bodyCaching)
	h.Set("Content-Type", mediaBytes)
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-%s"`, s.Name, s.Digest.String()[:12]))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Accept-Ranges", "bytes")
}

// notModified is for a caller who has the body.
type notModified record.Section

// VisitGetBodyResponse writes no more than what a cache needs (RFC 9110, section
// 15.4.5).
func (n notModified) VisitGetBodyResponse(w http.ResponseWriter) error {
	w.Header().Set("ETag", digestTag(n.Digest))
	w.Header().Set("Cache-Control", bodyCaching)
	w.WriteHeader(http.StatusNotModified)
	return nil
}

// bodyHead is the answer to HEAD, for which the body isn't read.
type bodyHead record.Section

// VisitGetBodyResponse writes the headers.
func (b bodyHead) VisitGetBodyResponse(w http.ResponseWriter) error {
	setBodyHeaders(w.Header(), (*record.Section)(&b))
	w.Header().Set("Content-Length", strconv.FormatInt(b.Length, 10))
	w.WriteHeader(http.StatusOK)
	return nil
}

// bodyAnswer is a body, which was verified as a whole.
type bodyAnswer struct {
	section record.Section
	params  GetBodyParams
}

// VisitGetBodyResponse writes the body, or the ranges of it that were asked for.
func (b *bodyAnswer) VisitGetBodyResponse(w http.ResponseWriter) error {
	setBodyHeaders(w.Header(), &b.section)
	ranges := orZero(b.params.Range)
	if !strings.HasPrefix(ranges, "bytes=") { // a unit that isn't known is ignored (RFC 9110, section 14.2)
		w.Header().Set("Content-Length", strconv.Itoa(len(b.section.Body)))
		w.WriteHeader(http.StatusOK)
		_, err := w.Write(b.section.Body)
		return err
	}
	asked := &http.Request{Method: http.MethodGet, Header: http.Header{"Range": {ranges}}}
	if validator := b.params.IfRange; validator != nil {
		asked.Header.Set("If-Range", *validator)
	}
	answer := &rangeAnswer{ResponseWriter: w}
	http.ServeContent(answer, asked, "", time.Time{}, bytes.NewReader(b.section.Body))
	if answer.unsatisfiable {
		for _, name := range []string{"Content-Type", "Content-Disposition"} { // the body's, or net/http's
			w.Header().Del(name)
		}
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", b.section.Length))
		return &problem{
			status: http.StatusRequestedRangeNotSatisfiable, code: "range_not_satisfiable",
			detail: "Range names no bytes that the body has; Content-Range tells how long it is.",
		}
	}
	return answer.err
}

// rangeAnswer keeps net/http from saying in plain text that it has no such range, and
// remembers why an answer was cut off.
type rangeAnswer struct {
	http.ResponseWriter
	unsatisfiable bool
	err           error
}

// WriteHeader passes every other status on.
func (a *rangeAnswer) WriteHeader(status int) {
	if a.unsatisfiable = status == http.StatusRequestedRangeNotSatisfiable; !a.unsatisfiable {
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write passes all on but the text of a refusal.
func (a *rangeAnswer) Write(text []byte) (n int, err error) {
	if a.unsatisfiable {
		return len(text), nil
	}
	n, err = a.ResponseWriter.Write(text)
	if err != nil {
		a.err = err
	}
	return n, err
}

// PresignBody serves
// POST /v1/collections/{collection}/records/{key}/sections/{section}/body/presign.
func (s *server) PresignBody(ctx context.Context, request PresignBodyRequestObject) (PresignBodyResponseObject, error) {
	signed, err := s.records.Presign(ctx, caller(ctx), request.Collection, request.Key, request.Section)
	if err != nil {
		return nil, err
	}
	return PresignBody200JSONResponse{
		Body:    PresignedBody{URL: signed.URL, ExpiresAt: signed.ExpiresAt.UTC(), Digest: signed.Digest.String(), Length: signed.Length},
		Headers: PresignBody200ResponseHeaders{CacheControl: noStore},
	}, nil
}
