package migration

import (
	"encoding/binary"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// maxDigests is how many digests of a collection are remembered at once: some
// 20 MiB of them.
const maxDigests = 1 << 19

// digests counts different digests in bounded memory, by adaptive sampling (Wegman;
// P. Flajolet, "On adaptive sampling", Computing 43, 1990): when it is full, it
// keeps those of every second remainder, and counts each twice. Up to maxDigests
// it is exact, and above it is off by some 1.2/sqrt(maxDigests), 0.2 %. A digest is
// known by its first 8 bytes: of a million, two are the same by chance once in
// some 40 million counts.
type digests struct {
	most    int
	kept    map[uint64]int64 // the lengths of bodies
	dropped uint             // how many low bits of those that are kept are 0
}

func newDigests(most int) *digests { return &digests{most: most, kept: map[uint64]int64{}} }

func (d *digests) add(digest record.Digest, length int64) {
	prefix := binary.BigEndian.Uint64(digest[:])
	if !d.keeps(prefix) {
		return
	}
	d.kept[prefix] = length
	for len(d.kept) > d.most {
		d.dropped++
		for prefix := range d.kept {
			if !d.keeps(prefix) {
				delete(d.kept, prefix)
			}
		}
	}
}

func (d *digests) keeps(prefix uint64) bool { return prefix&(1<<d.dropped-1) == 0 }

// distinct gives the count, beside so many live bodies.
func (d *digests) distinct(live int64) Distinct {
	count := Distinct{Bodies: int64(len(d.kept)) << d.dropped, Exact: d.dropped == 0, Ratio: 1}
	for _, length := range d.kept {
		count.Bytes += length << d.dropped
	}
	if live > 0 {
		count.Bodies = min(count.Bodies, live)
		count.Ratio = float64(count.Bodies) / float64(live)
	}
	return count
}
