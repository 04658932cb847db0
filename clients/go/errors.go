package holdfast

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Error is an answer that isn't a success. Problem says why; from something
// between client and service that doesn't speak for it, only Status is set.
type Error struct {
	Problem
	RetryAfter time.Duration // when a retry may succeed; 0 where the service doesn't invite one
}

func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("holdfast: HTTP status %d", e.Status)
	}
	return fmt.Sprintf("holdfast: %s (%d): %s [request %s]", e.Code, e.Status, e.Detail, e.RequestID)
}

// IsCode tells whether err is an answer with this code, "handle_taken" say.
func IsCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// maxProblem bounds what is read of an error, in bytes: a conflict may show a
// record with 8 MiB of bodies, in base64.
const maxProblem = 16 << 20

// errorIn reads an answer that isn't a success, and closes it.
func errorIn(response *http.Response) *Error {
	defer response.Body.Close()
	e := &Error{RetryAfter: retryAfter(response.Header)}
	if text, err := io.ReadAll(io.LimitReader(response.Body, maxProblem)); err == nil {
		if json.Unmarshal(text, &e.Problem) != nil {
			e.Problem = Problem{}
		}
	}
	e.Status = response.StatusCode
	return e
}

// retryAfter reads the header's seconds. The service sends no dates.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
