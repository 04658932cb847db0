package objects

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// maxLifecycle bounds a lifecycle configuration in bytes. S3 allows a thousand
// rules; this is room for them.
const maxLifecycle = 1 << 20

// lifecycle answers the calls that set, get and delete a bucket's lifecycle
// configuration, which the gateway doesn't know. It keeps the rules, and never
// carries them out.
//
// Each call goes to the gateway first. Only what the gateway would do if it
// knew how is answered here: a call with a wrong signature, or of a bucket that
// isn't there, gets the gateway's own refusal.
type lifecycle struct {
	next http.Handler

	mu    sync.Mutex
	rules map[string][]byte // a bucket's configuration, as it was put
}

func newLifecycle(next http.Handler) *lifecycle {
	return &lifecycle{next: next, rules: make(map[string][]byte)}
}

func (l *lifecycle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, ok := lifecycleBucket(r)
	if !ok {
		l.next.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLifecycle))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		writeError(w, http.StatusBadRequest, "EntityTooLarge", "The lifecycle configuration is too large.")
		return
	case err != nil:
		return // the client has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))

	verdict := &refusal{ResponseWriter: w}
	l.next.ServeHTTP(verdict, r)
	if verdict.final {
		return
	}
	l.answer(w, r.Method, bucket, body)
}

// answer does what the call asks. Its signature and bucket are good.
func (l *lifecycle) answer(w http.ResponseWriter, method, bucket string, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch method {
	case http.MethodPut:
		if !wellFormed(body) {
			writeError(w, http.StatusBadRequest, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema.")
			return
		}
		l.rules[bucket] = body
		w.WriteHeader(http.StatusOK)
	case http.MethodGet:
		rules, ok := l.rules[bucket]
		if !ok {
			writeError(w, http.StatusNotFound, "NoSuchLifecycleConfiguration", "The lifecycle configuration does not exist.")
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		_, _ = w.Write(rules)
	case http.MethodDelete:
		delete(l.rules, bucket)
		w.WriteHeader(http.StatusNoContent)
	}
}

// lifecycleBucket is the bucket that a lifecycle call is about. It is named in the
// path, or by the host.
func lifecycleBucket(r *http.Request) (bucket string, ok bool) {
	switch r.Method {
	case http.MethodGet, http.MethodPut, http.MethodDelete:
	default:
		return "", false
	}
	path := r.URL.Path
	if host, _, named := strings.Cut(r.Host, "."+domain); named {
		path = "/" + host + path
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return bucket, bucket != "" && key == "" && r.URL.Query().Has("lifecycle")
}

// wellFormed tells whether body is a lifecycle configuration with rules that
// each have a status, the one part that every rule must have.
func wellFormed(body []byte) bool {
	var configuration struct {
		XMLName xml.Name `xml:"LifecycleConfiguration"`
		Rules   []struct {
			Status string `xml:"Status"`
		} `xml:"Rule"`
	}
	if err := xml.Unmarshal(body, &configuration); err != nil || len(configuration.Rules) == 0 {
		return false
	}
	for _, rule := range configuration.Rules {
		if rule.Status != "Enabled" && rule.Status != "Disabled" {
			return false
		}
	}
	return true
}
