package holdfast

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// The limits of a verification that its reader reaches, in VerificationReport.Limits.
const (
	LimitPhase    = "phase"    // the time for all of it
	LimitAttempts = "attempts" // a request had no answer in the last of its attempts
	LimitResponse = "response" // an answer was too large
)

// tried makes the attempts at one read, and tells what came of them.
func (r *verifier) tried(ctx context.Context, call func(context.Context) error) ReadOutcome {
	for failures := 1; ; failures++ {
		if ctx.Err() != nil {
			return r.unanswered(LimitPhase)
		}
		err := try(ctx, time.Duration(r.limits.RequestSeconds)*time.Second, call)
		switch {
		case err == nil:
			return ReadSeen
		case IsCode(err, "record_not_found"), IsCode(err, "collection_not_found"):
			return ReadAbsent
		case errors.Is(err, errTooLarge):
			return r.unanswered(LimitResponse)
		}
		pause, again := repeatAfter(err, failures)
		if again && failures < r.limits.Attempts && wait(ctx, pause) == nil {
			continue
		}
		var wrong *UnverifiedBodyError
		switch {
		case errors.As(err, &wrong):
			return ReadWrong
		case IsCode(err, "body_unavailable"):
			return ReadUnavailable
		case ctx.Err() != nil || again && failures < r.limits.Attempts: // too late for another
			return r.unanswered(LimitPhase)
		}
		return r.unanswered(LimitAttempts)
	}
}

func (r *verifier) unanswered(limit string) ReadOutcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.report.Limits, limit) {
		r.report.Limits = append(r.report.Limits, limit)
	}
	return ReadUnanswered
}

// boundedDoer sends each request once, with a token, and ends an answer that is too
// large.
type boundedDoer struct {
	doer    HttpRequestDoer
	token   string
	longest int64 // bytes of an answer
	sent    atomic.Int64
}

func (d *boundedDoer) count() int { return int(d.sent.Load()) }

// Do gives a successful answer, or an error: *Error where the service answered.
func (d *boundedDoer) Do(request *http.Request) (*http.Response, error) {
	d.sent.Add(1)
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+d.token)
	response, err := d.doer.Do(request)
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode >= http.StatusBadRequest:
		return nil, errorIn(response)
	case response.ContentLength > d.longest:
		response.Body.Close()
		return nil, errTooLarge
	}
	response.Body = &boundedBody{response.Body, d.longest}
	return response, nil
}

var errTooLarge = errors.New("holdfast: the answer is larger than the verification's limit")

// boundedBody fails where an ordinary limit would seem to end.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(into []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(into)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
