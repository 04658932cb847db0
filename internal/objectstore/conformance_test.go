package objectstore_test

import (
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/objectstore/conformance"
)

// TestConformance is what any store must do for bodies to be safe in it. It runs
// against the development stack's, or against the bucket that
// HOLDFAST_TEST_BODIES_ENDPOINT and its like name.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, w := range ways(t) {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range conformance.Promises() {
				t.Run(p.Name, func(t *testing.T) {
					t.Parallel()
					b := w.bed(t)
					// The transport knows the way to the store, and no key.
					at := conformance.Place{Store: b.Bucket, Prefix: b.prefix, Client: &http.Client{Transport: b.StoreFaults}}
					if err := p.Keep(t.Context(), at); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}
