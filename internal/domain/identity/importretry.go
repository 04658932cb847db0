package identity

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// A line is tried again with pauses that begin with the first and double up to
// the longest.
const (
	firstImportPause   = 20 * time.Millisecond
	longestImportPause = time.Second
)

// persist makes a line's record, and tries again what may pass with time: a key
// that another request is just claiming, a database that can't be reached, an
// outcome that nobody knows. The bound is twice an operation's deadline: by then
// whatever stood in the way could have been recovered.
//
// Once a line has waited for a database in vain, the next ones are tried once
// only, until one succeeds: else an outage would cost each its full patience.
func (r *importRun) persist(ctx context.Context, make func(context.Context) (bool, error)) (exists bool, err error) {
	began, unknown := time.Now(), false
	for pause := firstImportPause; ; pause = min(2*pause, longestImportPause) {
		exists, err = make(ctx)
		if err == nil {
			r.weary.Store(false)
			return exists && !unknown, nil // what is there now, an attempt of ours has made
		}
		unknown = unknown || domain.KindOf(err) == domain.KindOutcomeUnknown
		down := domain.KindOf(err) == domain.KindUnavailable
		switch {
		case stopped(err) || !mayPass(err), down && r.weary.Load():
			return false, err
		case time.Since(began) > 2*r.s.deadline:
			r.weary.Store(down)
			return false, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// mayPass tells an error that the same line may not meet again.
func mayPass(err error) bool {
	var e *domain.Error
	return errors.As(err, &e) && (e.RetryAfter > 0 || e.Kind == domain.KindOutcomeUnknown)
}

var (
	errLineReused = domain.Invalid("idempotency_key_reused",
		"Something else was imported under this key. Use a new key for a new record.").At("/key")
	errLineDeleted = domain.Gone("account_deleted",
		"The account that was imported under this key has been deleted. Use a new key to make another.").At("/key")
	errLineRemoved = domain.Gone("device_removed",
		"The device that was imported under this key has been removed. Use a new key to make another.").At("/key")
)

// fail gives a line its error. One that is not the domain's is for the log, and
// leaves its place to a plain one.
func (f *flight) fail(err error) {
	f.result.Result = ImportFailed
	switch domain.CodeOf(err) { // which speak of requests
	case errKeyReused.Code:
		err = errLineReused
	case errDeviceGone.Code:
		err = errLineRemoved
	}
	if !errors.As(err, &f.result.Error) {
		f.result.Error = (&domain.Error{
			Code:   "internal",
			Detail: "Something went wrong with this line. It was not imported, or will answer that it exists.",
		}).Because(err)
	}
}
