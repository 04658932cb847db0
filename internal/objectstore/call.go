package objectstore

import (
	"context"
)

// once makes one request when its turn has come. send sees the whole answer, its
// body too; the context that it gets ends when the request has taken too long.
func (b *Bucket) once(ctx context.Context, op operation, key string, send func(context.Context) error) outcome {
	permit, err := b.limiter.acquire(ctx)
	if err != nil {
		return outcome{verdict: ended, err: err}
	}
	call := b.telemetry.begin(ctx, op, key)
	timed, cancel := context.WithTimeout(call.ctx, b.timeout)
	defer cancel()

	o := judge(ctx, send(timed))
	permit.release(o.verdict.load())
	call.end(o)
	return o
}

// repeat makes a request that may be made any number of times, until its outcome
// stands.
func (b *Bucket) repeat(ctx context.Context, op operation, key string, send func(context.Context) error) error {
	tries := attempts{most: b.maxAttempts}
	for {
		o := b.once(ctx, op, key, send)
		if !o.verdict.mayPass() {
			return b.conclude(ctx, op, key, o)
		}
		if err := tries.pause(ctx, o); err != nil {
			return err
		}
		b.telemetry.retried(ctx, op)
	}
}

// conclude makes the caller's error of an outcome that stands. Of corruption
// somebody must hear who can look into it.
func (b *Bucket) conclude(ctx context.Context, op operation, key string, o outcome) error {
	switch o.verdict {
	case done:
		return nil
	case missing:
		return errMissing.Because(o.err)
	case corrupt:
		b.telemetry.corrupted(ctx)
		b.log.ErrorContext(ctx, "an object is not what was stored at its key", "object_key", key, "operation", op.String(), "error", o.err)
		return errCorrupt.Because(o.err)
	case ended:
		return o.err
	default:
		return errUnavailable.Because(o.err)
	}
}
