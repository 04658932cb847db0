package main

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// R15: a body is the bytes that were sent, and a live empty one is no tombstone.
func TestBody_IsItsExactBytesHoweverItWasSent(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		for i, body := range []string{
			"", "\x00", "\xff\xfe\xc0\x80", "a\r\nb\n\r", "\ufeff{}", `{"a":1}`, strings.Repeat("\x00\xff", 600_000),
			"--x\r\nContent-Disposition: form-data; name=\"plans\"\r\n\r\n", "\r\n", "\r\n--",
		} {
			for encoding, publish := range map[string]func(key string) reply{
				"base64": func(key string) reply {
					return k.ask(t, "PUT", at(key), publication(key, map[string]string{"items": body}), "If-None-Match: *")
				},
				"parts": func(key string) reply {
					return k.upload(t, key, newParts(t, `{"operation_id":"`+key+`"}`, map[string]string{"items": body}), "If-None-Match: *")
				},
			} {
				key := fmt.Sprint(encoding, "-", i)
				if made := publish(key); made.status != http.StatusOK {
					t.Fatalf("%s %.20q: %d %s", encoding, body, made.status, made.body)
				}
				read := k.ask(t, "GET", bodyAt(key, "items"), "")
				if read.status != http.StatusOK || read.text() != body || read.header.Get("Content-Length") != fmt.Sprint(len(body)) {
					t.Errorf("%s %.20q came back as %d %v %.20q", encoding, body, read.status, read.header, read.body)
				}
				var record holdfast.Record
				k.ask(t, "GET", at(key)+"?include=bodies", "").into(t, &record)
				if got := record.Sections["items"].Body; got == nil || string(*got) != body {
					t.Errorf("%s %.20q came back with its record otherwise", encoding, body)
				}
			}
		}
		k.ask(t, "PUT", at("base64-0"), `{"operation_id":"end","tombstones":["items"]}`, `If-Match: "1"`)
		k.ask(t, "GET", bodyAt("base64-0", "items"), "").expectProblem(t, http.StatusGone, "section_deleted")
	})
}

func TestBody_IsSentAsAnAttachmentThatNobodySniffs(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	k.create(t, "a", map[string]string{"items": "hello"})
	got := k.ask(t, "GET", bodyAt("a", "items"), "").header
	for name, want := range map[string]string{
		"Content-Type":           "application/octet-stream",
		"Content-Disposition":    `attachment; filename="items-2cf24dba5fb0"`,
		"X-Content-Type-Options": "nosniff",
		"ETag":                   `"` + helloDigest + `"`,
		"Content-Length":         "5",
		"Accept-Ranges":          "bytes",
		"Cache-Control":          "private, no-cache",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
}

func TestBody_RangesAreThoseOfTheBodyThatIsMeant(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.create(t, "a", map[string]string{"items": "hello", "plans": ""})
		path := bodyAt("a", "items")
		for name, c := range map[string]struct {
			headers []string
			status  int
			body    string
			ranges  string
		}{
			"the first two":      {[]string{"Range: bytes=0-1"}, 206, "he", "bytes 0-1/5"},
			"the last two":       {[]string{"Range: bytes=-2"}, 206, "lo", "bytes 3-4/5"},
			"from the third":     {[]string{"Range: bytes=2-"}, 206, "llo", "bytes 2-4/5"},
			"beyond the end":     {[]string{"Range: bytes=3-99"}, 206, "lo", "bytes 3-4/5"},
			"of this body":       {[]string{"Range: bytes=0-0", `If-Range: "` + helloDigest + `"`}, 206, "h", "bytes 0-0/5"},
			"of another body":    {[]string{"Range: bytes=0-0", `If-Range: "other"`}, 200, "hello", ""},
			"of a weak tag":      {[]string{"Range: bytes=0-0", `If-Range: W/"` + helloDigest + `"`}, 200, "hello", ""},
			"of another unit":    {[]string{"Range: lines=0-0"}, 200, "hello", ""},
			"more than the body": {[]string{"Range: bytes=0-4,0-4"}, 200, "hello", ""},
		} {
			got := k.ask(t, "GET", path, "", c.headers...)
			if got.status != c.status || got.text() != c.body || got.header.Get("Content-Range") != c.ranges || got.header.Get("ETag") != `"`+helloDigest+`"` {
				t.Errorf("%s: %d %v %q", name, got.status, got.header, got.body)
			}
		}
		for name, ranges := range map[string]string{"behind the end": "bytes=5-", "malformed": "bytes=x"} {
			got := k.ask(t, "GET", path, "", "Range: "+ranges)
			got.expectProblem(t, http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable")
			if got.header.Get("Content-Range") != "bytes */5" || got.header.Get("Content-Disposition") != "" {
				t.Errorf("%s: %v", name, got.header)
			}
		}
		if got := k.ask(t, "GET", bodyAt("a", "plans"), "", "Range: bytes=0-"); got.status != http.StatusOK || len(got.body) != 0 {
			t.Errorf("a range of nothing: %d %q", got.status, got.body)
		}
	})
}

func TestBody_SeveralRangesComeInParts(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 1)
	k.create(t, "a", map[string]string{"items": "hello"})
	got := k.ask(t, "GET", bodyAt("a", "items"), "", "Range: bytes=0-0,3-4")
	media, parameters, err := mime.ParseMediaType(got.header.Get("Content-Type"))
	if got.status != http.StatusPartialContent || media != "multipart/byteranges" || err != nil {
		t.Fatalf("%d %v", got.status, got.header)
	}
	var read []string
	for parts := multipart.NewReader(bytes.NewReader(got.body), parameters["boundary"]); ; {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, part.Header.Get("Content-Range")+" "+string(text))
	}
	if fmt.Sprint(read) != "[bytes 0-0/5 h bytes 3-4/5 lo]" {
		t.Errorf("the parts are %q", read)
	}
}

func TestBody_WhoHasItIsToldWithoutReadingIt(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 2)
	k.create(t, "a", map[string]string{"items": "hello"})
	path, tag := bodyAt("a", "items"), `"`+helloDigest+`"`
	before := k.network.Count("GET")
	for _, listed := range []string{tag, `"other", ` + tag, "W/" + tag, "*"} {
		got := k.ask(t, "GET", path, "", "If-None-Match: "+listed)
		if got.status != http.StatusNotModified || got.header.Get("ETag") != tag || len(got.body) != 0 {
			t.Errorf("%s: %d %v %s", listed, got.status, got.header, got.body)
		}
	}
	head := k.ask(t, "HEAD", path, "")
	if head.status != http.StatusOK || head.header.Get("Content-Length") != "5" || head.header.Get("ETag") != tag || head.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("HEAD: %d %v", head.status, head.header)
	}
	if got := k.ask(t, "HEAD", path, "", "If-None-Match: "+tag); got.status != http.StatusNotModified {
		t.Errorf("HEAD of what is there: %d", got.status)
	}
	if reads := k.network.Count("GET") - before; reads != 0 {
		t.Errorf("the body was read %d times", reads)
	}
	if got := k.ask(t, "GET", path, "", `If-None-Match: "other"`); got.status != http.StatusOK || got.text() != "hello" {
		t.Errorf("another: %d %s", got.status, got.body)
	}
}

func TestBody_IsDownloadedFromTheStoreByAURLOfItsOwn(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 2)
	k.create(t, "a", map[string]string{"items": "hello"})
	signed := k.ask(t, "POST", bodyAt("a", "items")+"/presign", "")
	var presigned holdfast.PresignedBody
	signed.into(t, &presigned)
	if signed.status != http.StatusOK || signed.header.Get("Cache-Control") != "no-store" || presigned.Digest != helloDigest || presigned.Length != 5 {
		t.Fatalf("%d %v %s", signed.status, signed.header, signed.body)
	}
	response, err := http.Get(presigned.URL) // as anybody
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || string(body) != "hello" || !strings.HasPrefix(response.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%d %v %s %v", response.StatusCode, response.Header, body, err)
	}
	target, err := url.Parse(presigned.URL)
	if err != nil {
		t.Fatal(err)
	}
	query := target.Query()
	query.Set("X-Amz-Expires", "600")
	target.RawQuery = query.Encode()
	if response, err := http.Get(target.String()); err != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("a URL that was changed: %v %v", response, err)
	}
	k.ask(t, "POST", bodyAt("a", "plans")+"/presign", "").expectProblem(t, http.StatusNotFound, "section_not_found")

	inSQL := newKeeper(t, 1)
	inSQL.create(t, "a", map[string]string{"items": "hello"})
	inSQL.ask(t, "POST", bodyAt("a", "items")+"/presign", "").expectProblem(t, http.StatusConflict, "body_in_sql")
}

// lastByte changes the last byte of what the store gives.
func lastByte() testkit.Fault {
	return func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return nil, err
		}
		if len(body) > 0 {
			body[len(body)-1] ^= 1
		}
		answer.Body = io.NopCloser(bytes.NewReader(body))
		return answer, nil
	}
}

// R27: all of a body is verified before the first byte of a range is sent.
func TestBody_ARangeOfAWrongBodySendsNoByte(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, 2)
	body := strings.Repeat("hello ", 50_000)
	k.create(t, "a", map[string]string{"items": body})
	k.network.AtRandom(1, 1, lastByte())
	for _, ranges := range []string{"bytes=0-0", "bytes=0-4,6-10", "bytes=-1", "lines=1"} {
		got := k.ask(t, "GET", bodyAt("a", "items"), "", "Range: "+ranges)
		got.expectProblem(t, http.StatusServiceUnavailable, "body_unavailable")
		if got.header.Get("Retry-After") == "" || strings.Contains(got.text(), "hello") {
			t.Errorf("%s: %v %s", ranges, got.header, got.body)
		}
	}
	k.network.AtRandom(1, 0)
	if got := k.ask(t, "GET", bodyAt("a", "items"), "", "Range: bytes=0-4"); got.text() != "hello" {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

// What an answer held in memory is there for others when it was sent: each of these
// reads more than a process may hold at once.
func TestBody_WhatAnAnswerHeldIsGivenBack(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		k.create(t, "a", map[string]string{"items": strings.Repeat("x", 2<<20)})
		for _, c := range []struct {
			method, path, body string
			status             int
		}{
			{"GET", bodyAt("a", "items"), "", 200},
			{"GET", at("a") + "?include=bodies", "", 200},
			{"GET", "/export?include=bodies", "", 200},
			{"PUT", at("a") + "?include=bodies", publication("o", map[string]string{"items": "x"}), 412},
		} {
			for n := range record.DefaultMemory>>21 + 4 {
				if got := k.ask(t, c.method, c.path, c.body, `If-Match: "7"`); got.status != c.status || len(got.body) < 2<<20 {
					t.Fatalf("%s %s: the %d. time %d %.300s", c.method, c.path, n+1, got.status, got.body)
				}
			}
		}
	})
}
