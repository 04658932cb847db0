package migration

import "math/bits"

// SizeBucket counts the bodies of a range of lengths.
type SizeBucket struct {
	UpTo   int64 `json:"up_to_bytes"` // and of more than the bucket before; -1 for the last, which has no end
	Bodies int64 `json:"bodies"`
	Bytes  int64 `json:"bytes"`
}

// The buckets go by powers of four: empty bodies, up to 64 bytes, 256, 1 KiB,
// 4 KiB and so on up to 16 MiB, and whatever is more.
const (
	leastBucketBits = 6  // 64 bytes
	mostBucketBits  = 24 // 16 MiB
	sizeBuckets     = 1 + (mostBucketBits-leastBucketBits)/2 + 1 + 1
)

// histogram has the same buckets for every count, so that two can be compared.
type histogram [sizeBuckets]SizeBucket

func newHistogram() *histogram {
	h := &histogram{}
	for i := 1; i < sizeBuckets-1; i++ {
		h[i].UpTo = 1 << (leastBucketBits + 2*(i-1))
	}
	h[sizeBuckets-1].UpTo = -1
	return h
}

func (h *histogram) add(length int64) {
	bucket := &h[bucketOf(length)]
	bucket.Bodies++
	bucket.Bytes += length
}

// bucketOf is the bucket of a length: 0 for an empty body, else the first whose
// bound isn't below it.
func bucketOf(length int64) int {
	if length == 0 {
		return 0
	}
	above := bits.Len64(uint64(length-1)) - leastBucketBits // powers of two over the first bound
	return min(1+max(0, (above+1)/2), sizeBuckets-1)
}

func (h *histogram) merge(other *histogram) {
	for i := range other {
		h[i].Bodies += other[i].Bodies
		h[i].Bytes += other[i].Bytes
	}
}
