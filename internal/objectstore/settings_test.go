package objectstore_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/objectstore"
)

func TestOpen_AsksNothing_AndRefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	good := objectstore.Settings{
		Endpoint: "https://store.example", Bucket: "bucket", AccessKey: "key", SecretKey: "secret",
		Transport: answering(func(r *http.Request) (*http.Response, error) {
			t.Errorf("the store was asked: %s", r.URL)
			return status(r, 500), nil
		}),
	}
	if b, err := objectstore.Open(t.Context(), good, objectstore.Options{}); err != nil {
		t.Error(err)
	} else if err := b.Close(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*objectstore.Settings){
		"no endpoint":      func(s *objectstore.Settings) { s.Endpoint = "" },
		"another protocol": func(s *objectstore.Settings) { s.Endpoint = "ftp://store.example" },
		"no host":          func(s *objectstore.Settings) { s.Endpoint = "https:///x" },
		"no bucket":        func(s *objectstore.Settings) { s.Bucket = "" },
		"a host's name with a dot of the bucket's": func(s *objectstore.Settings) { s.Bucket = "a.bucket" },
		"an address, in host style":                func(s *objectstore.Settings) { s.Endpoint = "http://127.0.0.1:9000" },
		"no key":                                   func(s *objectstore.Settings) { s.AccessKey = "" },
		"no secret":                                func(s *objectstore.Settings) { s.SecretKey = "" },
		"fewer than none":                          func(s *objectstore.Settings) { s.MaxConcurrency = -1 },
	} {
		s := good
		spoil(&s)
		if b, err := objectstore.Open(t.Context(), s, objectstore.Options{}); err == nil || b != nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// Requests go where R2 and S3 expect them in each style, below the endpoint's own
// path, signed for the region.
func TestRequests_NameTheBucketInEitherStyle(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		endpoint  string
		pathStyle bool
		want      string
	}{
		{"https://account.r2.cloudflarestorage.com", true, "https://account.r2.cloudflarestorage.com/bucket/a/key%20%2B"},
		{"https://account.r2.cloudflarestorage.com", false, "https://bucket.account.r2.cloudflarestorage.com/a/key%20%2B"},
		{"https://store.example:8443/s3/", true, "https://store.example:8443/s3/bucket/a/key%20%2B"},
	} {
		var got *http.Request
		b := openFake(t, answering(func(r *http.Request) (*http.Response, error) {
			got = r
			return status(r, 403), nil
		}), func(s *objectstore.Settings) { s.Endpoint, s.PathStyle = c.endpoint, c.pathStyle })
		if _, err := b.Fetch(t.Context(), "a/key +", [32]byte{}, 1); err == nil {
			t.Fatal("403 is no error")
		}
		if got.URL.String() != c.want || got.Host != got.URL.Host {
			t.Errorf("%s, host %s; want %s", got.URL, got.Host, c.want)
		}
		if err := b.Delete(t.Context(), "a/key +"); err == nil {
			t.Fatal("403 is no error")
		}
		if got.URL.Host != mustHost(t, c.want) {
			t.Errorf("the SDK's client asks %s, want %s", got.URL, c.want)
		}
	}
}

func mustHost(t *testing.T, link string) string {
	t.Helper()
	r, err := http.NewRequest("GET", link, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r.URL.Host
}
