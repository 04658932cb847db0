package migration

import (
	"testing"

	"pgregory.net/rapid"
)

func TestHistogram_EachLengthHasTheLeastBucketThatTakesIt(t *testing.T) {
	h := newHistogram()
	if h[0].UpTo != 0 || h[1].UpTo != 64 || h[sizeBuckets-2].UpTo != 16<<20 || h[sizeBuckets-1].UpTo != -1 {
		t.Fatalf("the bounds are %+v", h)
	}
	for i := 2; i < sizeBuckets-1; i++ {
		if h[i].UpTo != 4*h[i-1].UpTo {
			t.Errorf("bucket %d goes up to %d, behind %d", i, h[i].UpTo, h[i-1].UpTo)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.SampledFrom(h[:sizeBuckets-1]).Draw(t, "bound").UpTo
		length := max(0, bound+rapid.Int64Range(-2, 2).Draw(t, "off"))
		if rapid.Bool().Draw(t, "anywhere") {
			length = rapid.Int64Range(0, 1<<40).Draw(t, "length")
		}
		i := bucketOf(length)
		if i > 0 && length <= h[i-1].UpTo {
			t.Fatalf("%d bytes are in bucket %d, and the one before takes them", length, i)
		}
		if i < sizeBuckets-1 && length > h[i].UpTo {
			t.Fatalf("%d bytes are in bucket %d, of up to %d", length, i, h[i].UpTo)
		}
	})
}

func TestHistogram_LosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, other := newHistogram(), newHistogram()
		var bodies, bytes int64
		for _, length := range rapid.SliceOf(rapid.Int64Range(0, 1<<30)).Draw(t, "lengths") {
			if rapid.Bool().Draw(t, "other") {
				other.add(length)
			} else {
				one.add(length)
			}
			bodies++
			bytes += length
		}
		one.merge(other)
		for _, b := range one {
			bodies -= b.Bodies
			bytes -= b.Bytes
		}
		if bodies != 0 || bytes != 0 {
			t.Fatalf("%d bodies of %d bytes are missing", bodies, bytes)
		}
	})
}
