package objectstore_test

import (
	"mime"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestPresign_ForcesAnAttachmentWhateverItsName(t *testing.T) {
	t.Parallel()
	b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
		t.Errorf("the store was asked: %s", r.URL)
		return status(r, 500), nil
	}))
	for name, want := range map[string]string{
		"items.json":          "items.json",
		"":                    "",
		`a "quoted" name`:     `a "quoted" name`,
		"../../etc/passwd":    ".._.._etc_passwd",
		`c:\x`:                "c:_x",
		"a\r\nSet-Cookie: b":  "a\r\nSet-Cookie: b", // encoded, see below
		"naïve 日本.json":       "naïve 日本.json",
		"a; filename=evil.sh": "a; filename=evil.sh",
		"bad\xffutf8":         "bad_utf8",
	} {
		link, err := b.Presign(t.Context(), "key", name, 5*time.Minute)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		disposition := q.Get("response-content-disposition")
		form, parameters, err := mime.ParseMediaType(disposition)
		if err != nil || form != "attachment" || parameters["filename"] != want || strings.ContainsAny(disposition, "\r\n") {
			t.Errorf("%q: %q is %s named %q, %v; want %q", name, disposition, form, parameters["filename"], err, want)
		}
		if q.Get("response-content-type") != "application/octet-stream" || q.Get("X-Amz-Expires") != "300" || u.Path != "/bucket/key" {
			t.Errorf("%q: %s", name, link)
		}
		for parameter := range q {
			if strings.Contains(strings.ToLower(parameter), "checksum") {
				t.Errorf("the reader's own client would have to send %s", parameter)
			}
		}
	}
}

func TestPresign_LivesNoLongerThanSignaturesDo(t *testing.T) {
	t.Parallel()
	b := openFake(t, answering(func(r *http.Request) (*http.Response, error) { return status(r, 500), nil }))
	for life, good := range map[time.Duration]bool{
		0: false, -time.Minute: false, time.Second: true, 7 * 24 * time.Hour: true, 7*24*time.Hour + time.Second: false,
	} {
		if link, err := b.Presign(t.Context(), "key", "x", life); (err == nil) != good || (link != "") != good {
			t.Errorf("%s: %q, %v", life, link, err)
		}
	}
}
