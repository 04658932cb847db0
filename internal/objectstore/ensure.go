package objectstore

import "context"

// Ensure returns nil when the object at key was seen to be exactly body, whose
// SHA-256 is digest. It makes the object unless there is one, and never changes
// one. likely says that there probably is one: it is looked at first then, since
// a refused upload costs as much as a good one.
//
// uploaded tells that the object was made here, as far as can be known: an
// upload whose answer was lost counts when the object is there afterwards.
//
// It fails with object_corrupt when other bytes are at the key, and with
// object_store_unavailable when nothing could be proven. The object may be there
// even so: unreferenced, and harmless.
func (b *Bucket) Ensure(ctx context.Context, key string, body []byte, digest [32]byte, likely bool) (uploaded bool, err error) {
	if likely {
		if err := b.verify(ctx, key, body); !isMissing(err) {
			return false, err
		}
	}
	tries := attempts{most: b.maxAttempts}
	for {
		created := b.create(ctx, key, body, digest)
		switch created.verdict {
		case done, exists, failed, timedOut: // it may be there
			if err := b.verify(ctx, key, body); !isMissing(err) {
				return err == nil && created.verdict != exists, err
			}
			// It hasn't arrived, or was deleted since.
		case conflict, throttled: // another write is no proof, and this one did nothing
		default:
			return false, b.conclude(ctx, putObject, key, created)
		}
		if err := tries.pause(ctx, created); err != nil {
			return false, err
		}
		b.telemetry.retried(ctx, putObject)
	}
}

// create uploads the body if there is no object, in one request.
func (b *Bucket) create(ctx context.Context, key string, body []byte, digest [32]byte) outcome {
	return b.once(ctx, putObject, key, func(ctx context.Context) error {
		return b.wire.create(ctx, key, body, digest)
	})
}

// contentType: nothing is known of a body but its bytes.
const contentType = "application/octet-stream"
