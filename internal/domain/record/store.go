package record

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Store keeps immutable objects by key. What can't be had for a reason that lies
// in the store is KindUnavailable: object_missing, object_corrupt where other
// bytes are at the key, object_store_unavailable for what may pass.
type Store interface {
	// Ensure makes sure that the object at key is exactly body, and has read it
	// back whole when it returns nil. likely says that it is probably there.
	// uploaded tells whether this call made it.
	Ensure(ctx context.Context, key string, body []byte, digest [32]byte, likely bool) (uploaded bool, err error)
	// Fetch gives the whole object, verified by digest and length.
	Fetch(ctx context.Context, key string, digest [32]byte, length int64) ([]byte, error)
	// Presign gives a URL that downloads the object as an attachment for a while.
	Presign(ctx context.Context, key, filename string, life time.Duration) (url string, err error)
	// List gives up to limit objects whose keys begin with prefix, behind a key, in
	// the order of their keys' bytes, and tells whether more follow.
	List(ctx context.Context, prefix, after string, limit int) (objects []domain.Object, more bool, err error)
	// Delete deletes objects; those that are gone already are no error.
	Delete(ctx context.Context, keys ...string) error
	// Lifecycle reads the live rules by which the store removes objects.
	Lifecycle(ctx context.Context) ([]domain.LifecycleRule, error)
}

// bodyKey is where a body is. It follows from its descriptor, and is stored
// nowhere. A generation other than 0 is for a body that was removed and came
// again.
func bodyKey(tenant domain.TenantID, collection domain.CollectionID, digest Digest, generation int32) string {
	key := fmt.Sprintf("%s%s", bodiesPrefix(tenant, collection), digest)
	if generation != 0 {
		key += fmt.Sprintf(".%d", generation)
	}
	return key
}

// allBodies is the prefix of every tenant's objects.
const allBodies = "tenants/"

func collectionPrefix(tenant domain.TenantID, collection domain.CollectionID) string {
	return fmt.Sprintf("%s%s/collections/%s/", allBodies, tenant, collection)
}

func bodiesPrefix(tenant domain.TenantID, collection domain.CollectionID) string {
	return collectionPrefix(tenant, collection) + "bodies/v1/sha256/"
}

var (
	errBodyUnavailable = domain.Unavailable("body_unavailable",
		"The body can't be had now. Keep what you had, and try again.").After(5 * time.Second)
	errBodyRefused = domain.Unavailable("body_unavailable",
		"Other bytes stand where the body belongs, so nothing was published. Tell whoever runs this installation.")
	errStoreUnavailable = domain.Unavailable("object_store_unavailable",
		"The object store can't be reached, so nothing was published. Try again under the same operation id.").After(time.Second)
	errStoreMissing = domain.Conflict("object_store_missing",
		"This installation has no object store. Configure one first.")
)

const (
	codeMissing = "object_missing"
	codeCorrupt = "object_corrupt"
)

// corrupt tells that other bytes are at an object's key, whatever that came to. No
// retry finds the right ones there.
func corrupt(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if e, is := err.(*domain.Error); is && e.Code == codeCorrupt {
			return true
		}
	}
	return false
}

// unavailable is what the store's failure comes to for a reader.
func unavailable(err error) error {
	if domain.KindOf(err) == domain.KindUnavailable {
		return errBodyUnavailable.Because(err)
	}
	return err
}

// refused is what the store's failure comes to for a publication.
func refused(err error) error {
	switch {
	case domain.CodeOf(err) == codeCorrupt:
		return errBodyRefused.Because(err)
	case domain.KindOf(err) == domain.KindUnavailable:
		return errStoreUnavailable.Because(err)
	}
	return err
}
