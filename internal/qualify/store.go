package qualify

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/objectstore/conformance"
)

// patience is how long one promise may take.
const patience = 2 * time.Minute

// store puts the promises of storage to the bucket, one after the other, and takes
// away what they left there, also of a run that is ended.
func (r *run) store(ctx context.Context) {
	if r.Store == nil {
		r.observe("bodies have a bucket", func() (string, error) { return "", errNoStore })
		return
	}
	prefix := fmt.Sprintf("qualification/%s/", r.id)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	for i, p := range conformance.Promises() {
		r.observe("storage: "+p.Name, func() (string, error) {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			return "", p.Keep(ctx, conformance.Place{
				Store: r.Store, Prefix: fmt.Sprintf("%s%d/", prefix, i), Client: &http.Client{Transport: transport},
			})
		})
	}
	r.observe("storage: what the promises left is taken away", func() (string, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return "", conformance.Clean(ctx, r.Store, prefix)
	})
}
