package testkit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// A Fault is what happens to one request to an object store. It may pass the
// request on, once, and make something else of the answer. Tests may bring their
// own: one that waits for the test's word, say.
type Fault func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error)

var errStoreCut = errors.New("the connection was cut")

// LostRequest cuts the connection before the store hears anything.
func LostRequest() Fault {
	return func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
		return nil, errStoreCut
	}
}

// LostAnswer cuts the connection once the store has done what was asked.
func LostAnswer() Fault {
	return func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
		return nil, errStoreCut
	}
}

// Refuse answers with an S3 error, and with Retry-After unless that is 0. The
// store hears nothing.
func Refuse(status int, code string, retryAfter time.Duration) Fault {
	return func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return storeError(r, status, code, retryAfter), nil
	}
}

// RefuseAfter likewise answers once the store has done what was asked: a
// gateway's error.
func RefuseAfter(status int, code string) Fault {
	lost := LostAnswer()
	return func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if _, err := lost(r, pass); !errors.Is(err, errStoreCut) {
			return nil, err
		}
		return storeError(r, status, code, 0), nil
	}
}

func storeError(r *http.Request, status int, code string, retryAfter time.Duration) *http.Response {
	text := "<Error><Code>" + code + "</Code><Message>as the test wants it</Message></Error>"
	header := http.Header{"Content-Type": {"application/xml"}, "Content-Length": {strconv.Itoa(len(text))}}
	if retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader([]byte(text))), ContentLength: int64(len(text)),
		Request: r,
	}
}

// CutAt cuts the connection when a share of the answer's body (0.6) has passed.
// The announced length is the whole one.
func CutAt(share float64) Fault {
	return withBody(func(body []byte) io.Reader {
		return io.MultiReader(bytes.NewReader(body[:int(share*float64(len(body)))]), failing{})
	}, wholeLength)
}

// ShortAnswer ends the answer's body early as if that were all of it. No length
// is announced.
func ShortAnswer(share float64) Fault {
	return withBody(func(body []byte) io.Reader {
		return bytes.NewReader(body[:int(share*float64(len(body)))])
	}, noLength)
}

// LongAnswer adds a byte to the answer's body. No length is announced.
func LongAnswer() Fault {
	return withBody(func(body []byte) io.Reader { return bytes.NewReader(append(body, '!')) }, noLength)
}

// WrongBytes changes one byte in the middle of the answer's body.
func WrongBytes() Fault {
	return withBody(func(body []byte) io.Reader {
		if len(body) > 0 {
			body[len(body)/2] ^= 1
		}
		return bytes.NewReader(body)
	}, wholeLength)
}

// Slow passes the request on after a while, unless the client leaves before.
func Slow(wait time.Duration) Fault {
	return func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			return pass()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// Hang lets the store do what was asked, and never answers.
func Hang() Fault {
	lost := LostAnswer()
	return func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if _, err := lost(r, pass); !errors.Is(err, errStoreCut) {
			return nil, err
		}
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
}

type announced bool

const (
	wholeLength announced = true
	noLength    announced = false
)

// withBody puts other bytes in the place of a good answer's body.
func withBody(other func([]byte) io.Reader, length announced) Fault {
	return func(_ *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		answer, err := pass()
		if err != nil || answer.StatusCode != http.StatusOK {
			return answer, err
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			return nil, err
		}
		answer.Body = io.NopCloser(other(body))
		if length == noLength {
			answer.ContentLength = -1
			answer.Header.Del("Content-Length")
		}
		return answer, nil
	}
}

// failing is where a body is cut.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
