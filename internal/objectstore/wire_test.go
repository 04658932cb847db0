package objectstore_test

import (
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// writesAreChecked looks at every upload as it goes over the wire, the repeated
// ones too: one SHA-256, in a header, and nothing that R2 doesn't know.
func writesAreChecked(t *testing.T, w way) {
	b := w.bed(t)
	bodies := map[string]body{}
	for _, size := range []int{0, 1000, 3 << 20} { // beyond where the SDK would ask for "100 Continue"
		x := b.random(size)
		bodies[x.key] = x
		b.On(http.MethodPut, testkit.LostRequest(), testkit.Refuse(503, "SlowDown", 0), testkit.LostAnswer())
		b.store(t, x)
		if _, err := b.ensure(t.Context(), x, false); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.Count("PUT"); n != 4*len(bodies) {
		t.Errorf("%d uploads were seen", n)
	}
	for _, r := range b.Requests() {
		if r.Method != http.MethodPut {
			continue
		}
		key := strings.Split(r.URL, "?")[0]
		x := bodies[key[strings.Index(key, "tenants/"):]]
		if got, want := r.Header.Values("X-Amz-Checksum-Sha256"), base64.StdEncoding.EncodeToString(x.digest[:]); len(got) != 1 || got[0] != want {
			t.Errorf("the checksum is %q, want %q", got, want)
		}
		if got, want := r.Header.Values("X-Amz-Content-Sha256"), hex.EncodeToString(x.digest[:]); len(got) != 1 || got[0] != want {
			t.Errorf("what is signed is %q, want %q", got, want)
		}
		if got := r.Header.Values("If-None-Match"); len(got) != 1 || got[0] != "*" {
			t.Errorf("If-None-Match is %q", got)
		}
		if r.Chunks || r.Late || r.Length != int64(len(x.bytes)) {
			t.Errorf("the body comes with length %d, in chunks %t, with a trailer %t", r.Length, r.Chunks, r.Late)
		}
		for name := range r.Header {
			if !slices.Contains(uploadHeaders, name) {
				t.Errorf("an upload has the header %s: %s", name, r.Header[name])
			}
		}
	}
}

// uploadHeaders are those of R2's documented PutObject, and of any request.
var uploadHeaders = []string{
	"Accept-Encoding", "Amz-Sdk-Invocation-Id", "Amz-Sdk-Request", "Authorization", "Content-Length", "Content-Type",
	"If-None-Match", "User-Agent", "X-Amz-Checksum-Sha256", "X-Amz-Content-Sha256", "X-Amz-Date",
}
