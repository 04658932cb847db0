// Package conformance holds an object store to what bodies need to be safe in it.
//
// The promises need no fault to be made, so they can be put to any bucket, the one
// that an installation is about to use too. What a store must do when the network
// or the store itself misbehaves is tested beside the adapter.
package conformance

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Store is what is held to the promises: a bucket behind its adapter.
type Store interface {
	Ensure(ctx context.Context, key string, body []byte, digest [32]byte, likely bool) (uploaded bool, err error)
	Fetch(ctx context.Context, key string, digest [32]byte, length int64) ([]byte, error)
	List(ctx context.Context, prefix, after string, limit int) (objects []domain.Object, more bool, err error)
	Delete(ctx context.Context, keys ...string) error
	Presign(ctx context.Context, key, filename string, life time.Duration) (string, error)
	Probe(ctx context.Context) error
}

// Promise is one thing that a store must do. Keep gives what it did instead; nil
// when it kept the promise. It leaves objects below the place's prefix.
type Promise struct {
	Name string
	Keep func(ctx context.Context, at Place) error
}

// Place is where the promises are put to a store.
type Place struct {
	Store  Store
	Prefix string       // of keys that nobody else has; ends with "/"
	Client *http.Client // that follows presigned URLs, and has no key of its own
}

// Promises are all of them. Each may be put to a store beside the others, at a
// place of its own.
func Promises() []Promise {
	return []Promise{
		{"bodies come back as they went", bodiesComeBack},
		{"a key may hold any characters", anyCharacters},
		{"an object is made once", objectIsMadeOnce},
		{"of many creators one uploads, and all are sure", manyCreators},
		{"wrong bytes at the key stop the work", wrongBytesStop},
		{"bytes that aren't their digest's are refused, and nothing is stored", wrongDigestIsRefused},
		{"another digest or length than stored is corruption", otherDescriptorIsCorruption},
		{"what isn't there is missing", missingIsMissing},
		{"deleting is for all, gone ones too", deletes},
		{"lists in order, page by page", lists},
		{"a presigned URL gives an attachment", presigns},
		{"the store answers a probe", answersProbe},
	}
}

// Clean deletes what the promises left below a prefix.
func Clean(ctx context.Context, store Store, prefix string) error {
	for {
		objects, more, err := store.List(ctx, prefix, "", 1000)
		if err != nil {
			return err
		}
		keys := make([]string, len(objects))
		for i, o := range objects {
			keys[i] = o.Key
		}
		if err := store.Delete(ctx, keys...); err != nil || !more {
			return err
		}
	}
}

func answersProbe(ctx context.Context, at Place) error { return at.Store.Probe(ctx) }
