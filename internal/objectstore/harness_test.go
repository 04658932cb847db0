package objectstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// way is how a bucket is reached.
type way struct {
	name string
	via  func(t *testing.T, f *testkit.StoreFaults, s objectstore.Settings) objectstore.Settings
}

// ways are those that lead to the test's store, in both styles of naming a bucket
// and in the path style also over a proxy.
func ways(t *testing.T) []way {
	all := []way{
		{"path style", func(_ *testing.T, f *testkit.StoreFaults, s objectstore.Settings) objectstore.Settings {
			s.PathStyle = true
			return f.Through(s)
		}},
		{"host style", func(t *testing.T, f *testkit.StoreFaults, s objectstore.Settings) objectstore.Settings {
			return f.Through(hostStyle(t, s))
		}},
	}
	if isLocal(testkit.BodyStore(t)) {
		all = append(all, way{"over a proxy", func(t *testing.T, f *testkit.StoreFaults, s objectstore.Settings) objectstore.Settings {
			s.PathStyle = true
			return f.Proxied(t, s)
		}})
	}
	return all
}

// isLocal tells the development stack's store, which has an address for a name.
func isLocal(s objectstore.Settings) bool {
	u, err := url.Parse(s.Endpoint)
	return err == nil && net.ParseIP(u.Hostname()) != nil
}

// hostStyle has the bucket named by the host. The stack knows names below
// localhost, and no resolver has to: the transport leads them to it.
func hostStyle(t *testing.T, s objectstore.Settings) objectstore.Settings {
	s.PathStyle = false
	if !isLocal(s) {
		return s
	}
	u, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	address := u.Host
	s.Endpoint = "http://localhost:" + u.Port()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, address)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	s.Transport = transport
	return s
}

// bed is a bucket behind a network that may misbehave.
type bed struct {
	*testkit.StoreFaults
	*objectstore.Bucket
	prefix string
	log    bytes.Buffer
}

func (w way) bed(t *testing.T, change ...func(*objectstore.Settings)) *bed {
	t.Helper()
	b := &bed{StoreFaults: testkit.NewStoreFaults(t), prefix: testkit.BodyPrefix(t)}
	s := w.via(t, b.StoreFaults, testkit.BodyStore(t))
	for _, c := range change {
		c(&s)
	}
	var err error
	b.Bucket, err = objectstore.Open(t.Context(), s, objectstore.Options{Log: slog.New(slog.NewJSONHandler(&b.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// impatient is for tests of what never answers.
func impatient(s *objectstore.Settings) { s.Timeout, s.MaxAttempts = time.Second, 3 }

// body is a body with its key and digest.
type body struct {
	key    string
	bytes  []byte
	digest [32]byte
}

func (b *bed) body(content []byte) body {
	digest := sha256.Sum256(content)
	return body{b.prefix + hex.EncodeToString(digest[:]), content, digest}
}

// random is a body of so many bytes that nobody else has.
func (b *bed) random(size int) body {
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	return b.body(content)
}

func (b *bed) ensure(ctx context.Context, x body, likely bool) (bool, error) {
	return b.Ensure(ctx, x.key, x.bytes, x.digest, likely)
}

func (b *bed) fetch(ctx context.Context, x body) ([]byte, error) {
	return b.Fetch(ctx, x.key, x.digest, int64(len(x.bytes)))
}

// store stores a body, which must be new.
func (b *bed) store(t *testing.T, x body) {
	t.Helper()
	if uploaded, err := b.ensure(t.Context(), x, false); err != nil || !uploaded {
		t.Fatalf("ensure: uploaded %t, %v", uploaded, err)
	}
}

// wantBody reads a body back.
func (b *bed) wantBody(t *testing.T, x body) {
	t.Helper()
	got, err := b.fetch(t.Context(), x)
	if err != nil || !bytes.Equal(got, x.bytes) {
		t.Errorf("the body came back as %d bytes, %v; want the %d that went", len(got), err, len(x.bytes))
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if domain.KindOf(err) != domain.KindUnavailable || domain.CodeOf(err) != code {
		t.Errorf("got %v, want unavailable: %s", err, code)
	}
}

// Codes of the adapter's errors.
const (
	isMissing     = "object_missing"
	isCorrupt     = "object_corrupt"
	isUnavailable = "object_store_unavailable"
)
