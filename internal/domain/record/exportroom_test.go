package record

import (
	"bytes"
	"testing"
)

// A section may be longer than the limits are now: it comes alone, in all the room
// that it takes.
func TestExport_ABodyOfWiderLimitsHasItsRoom(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		c := k.collection(t, "orders")
		long := bytes.Repeat([]byte("long "), (maxExportedBytes+1<<20)/5)
		k.large(t).publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"items": long}, Expect: Expectation{Absent: true}})
		k.publish(t, c, items("b", "short"))
		pool := k.Memory().large
		page, err := k.Export(t.Context(), k.scope, c, ExportRequest{Bodies: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Records) != 1 || !bytes.Equal(page.Records[0].Body, long) || !page.More {
			t.Errorf("the page has %d sections, more %v", len(page.Records), page.More)
		}
		if left := pool.total - int64(len(long)); !pool.free.TryAcquire(left) {
			t.Error("it has more room than it takes")
		} else {
			if pool.free.TryAcquire(1) {
				t.Error("it has less room than it takes")
			}
			pool.free.Release(left)
		}
		page.Close()
		k.expectNothingTaken(t)
		page, err = k.Export(t.Context(), k.scope, c, ExportRequest{After: page.Next, Bodies: true})
		if err != nil || len(page.Records) != 1 || string(page.Records[0].Body) != "short" {
			t.Fatalf("the next page: %+v, %v", page, err)
		}
		page.Close()
	})
}
