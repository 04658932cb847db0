package objectstore

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// A verdict is what one request came to.
type verdict uint8

const (
	done      verdict = iota
	missing           // there is no such object
	exists            // the object is there already, whatever it holds
	corrupt           // the object holds something else
	conflict          // another write of the key is under way (409): that never means "exists"
	throttled         // the store has too much (429, 503): it did nothing
	timedOut          // no whole answer in time
	failed            // the answer was lost, cut short, or an error of the store's; what was asked may be done
	refused           // another try would be refused likewise: a wrong key, a bucket that isn't there
	ended             // the context did
	verdicts          // their number
)

// String is the verdict's name in metrics and spans.
func (v verdict) String() string {
	return [verdicts]string{"done", "missing", "exists", "corrupt", "conflict", "throttled", "timed_out", "failed", "refused", "ended"}[v]
}

// mayPass tells what another try may overcome.
func (v verdict) mayPass() bool {
	return v == conflict || v == throttled || v == timedOut || v == failed
}

// load is what the verdict tells of the store's.
func (v verdict) load() load {
	switch v {
	case throttled, timedOut:
		return tooMuch
	case failed, ended:
		return unknown
	default:
		return fine
	}
}

// An outcome is a verdict with what it was drawn from.
type outcome struct {
	verdict verdict
	status  int           // of HTTP; 0 without an answer
	after   time.Duration // when the store wants to be asked again; 0 if it doesn't say
	err     error
}

// judge says what a request's error means. ctx is the caller's, which outlasts
// the single request's.
func judge(ctx context.Context, err error) outcome {
	o := outcome{err: err}
	var refused *refusal
	var answer *smithyhttp.ResponseError // the SDK's
	switch {
	case errors.As(err, &refused):
		o.status, o.after = refused.status, retryAfter(refused.after)
	case errors.As(err, &answer) && answer.Response != nil && answer.Response.Response != nil:
		o.status, o.after = answer.HTTPStatusCode(), retryAfter(answer.Response.Header.Get("Retry-After"))
	}
	o.verdict = verdictOf(ctx, err, o.status)
	if o.verdict == ended {
		o.err = ctx.Err()
	}
	return o
}

func verdictOf(ctx context.Context, err error, status int) verdict {
	var wrong corruption
	var timeout net.Error
	switch {
	case err == nil:
		return done
	case errors.As(err, &wrong):
		return corrupt
	case ctx.Err() != nil:
		return ended
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return timedOut
	case errors.Is(err, io.ErrUnexpectedEOF):
		return failed
	}
	switch code := errorCode(err); {
	case status == http.StatusNotFound && code == "NoSuchKey":
		return missing
	case status == http.StatusPreconditionFailed:
		return exists
	case status == http.StatusConflict:
		return conflict
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		return throttled
	case status >= 400 && status < 500 && !spoiltOnItsWay[code]:
		return refused
	default:
		return failed
	}
}

// spoiltOnItsWay are the codes of status 400 that tell of the connection and not
// of the request.
var spoiltOnItsWay = map[string]bool{"BadDigest": true, "IncompleteBody": true, "RequestTimeout": true, "XAmzContentSHA256Mismatch": true}

// errorCode is S3's own name of an error, or "".
func errorCode(err error) string {
	var refused *refusal
	var api smithy.APIError // the SDK's
	switch {
	case errors.As(err, &refused):
		return refused.code
	case errors.As(err, &api):
		return api.ErrorCode()
	}
	return ""
}

// retryAfter reads the header: seconds, or a date (RFC 9110, section 10.2.3).
func retryAfter(text string) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
