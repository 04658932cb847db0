package testkit

import (
	"cmp"
	"context"
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
)

// BodyStore is the object store that all tests of all packages share: the one of
// the running stack, or the one that HOLDFAST_TEST_BODIES_ENDPOINT and its like
// name, a bucket on R2 say. Keys hold a tenant's id, so tests don't meet; those
// who choose keys of their own take them below a BodyPrefix.
func BodyStore(t testing.TB) objectstore.Settings {
	t.Helper()
	s := objectstore.Settings{
		Endpoint:  os.Getenv("HOLDFAST_BODIES_ENDPOINT"),
		Bucket:    os.Getenv("HOLDFAST_BODIES_BUCKET"),
		Region:    os.Getenv("AWS_REGION"),
		PathStyle: os.Getenv("HOLDFAST_BODIES_STYLE") != "host",
		AccessKey: os.Getenv("AWS_ACCESS_KEY_ID"),
		SecretKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
	}
	if endpoint := os.Getenv("HOLDFAST_TEST_BODIES_ENDPOINT"); endpoint != "" {
		s = objectstore.Settings{
			Endpoint:  endpoint,
			Bucket:    os.Getenv("HOLDFAST_TEST_BODIES_BUCKET"),
			Region:    cmp.Or(os.Getenv("HOLDFAST_TEST_BODIES_REGION"), "auto"),
			PathStyle: os.Getenv("HOLDFAST_TEST_BODIES_STYLE") != "host",
			AccessKey: os.Getenv("HOLDFAST_TEST_BODIES_ACCESS_KEY_ID"),
			SecretKey: os.Getenv("HOLDFAST_TEST_BODIES_SECRET_ACCESS_KEY"),
		}
	}
	if s.Endpoint == "" {
		t.Fatal("HOLDFAST_BODIES_ENDPOINT is not set: run make test")
	}
	return s
}

// OpenBodies opens the store until the test ends.
func OpenBodies(t testing.TB, s objectstore.Settings) *objectstore.Bucket {
	t.Helper()
	bucket, err := objectstore.Open(t.Context(), s, objectstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bucket.Close(); err != nil {
			t.Error(err)
		}
	})
	return bucket
}

// BodyPrefix is a prefix of keys for the test alone, in the form that bodies'
// keys have. What is below it is deleted when the test ends.
func BodyPrefix(t testing.TB) string {
	t.Helper()
	prefix := "tenants/" + domain.RandomID[domain.TenantKind]().String() +
		"/collections/" + domain.RandomID[domain.CollectionKind]().String() + "/bodies/v1/sha256/"
	bucket := OpenBodies(t, BodyStore(t))
	t.Cleanup(func() {
		if err := deleteBelow(context.Background(), bucket, prefix); err != nil {
			t.Errorf("delete the test's objects: %v", err)
		}
	})
	return prefix
}

func deleteBelow(ctx context.Context, bucket *objectstore.Bucket, prefix string) error {
	for {
		objects, more, err := bucket.List(ctx, prefix, "", objectstore.MaxListed)
		if err != nil {
			return err
		}
		keys := make([]string, len(objects))
		for i, o := range objects {
			keys[i] = o.Key
		}
		if err := bucket.Delete(ctx, keys...); err != nil || !more {
			return err
		}
	}
}

// BodiesEnviron is an object store as the processes' environment has it, for
// tests of whole commands.
func BodiesEnviron(s objectstore.Settings) []string {
	style := "host"
	if s.PathStyle {
		style = "path"
	}
	return []string{
		"HOLDFAST_BODIES_ENDPOINT=" + s.Endpoint,
		"HOLDFAST_BODIES_BUCKET=" + s.Bucket,
		"HOLDFAST_BODIES_STYLE=" + style,
		"AWS_REGION=" + s.Region,
		"AWS_ACCESS_KEY_ID=" + s.AccessKey,
		"AWS_SECRET_ACCESS_KEY=" + s.SecretKey,
	}
}
