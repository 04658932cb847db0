package migration

import (
	"crypto/sha256"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

func digestOf(i int) record.Digest { return sha256.Sum256(fmt.Append(nil, i)) }

func TestDigests_AreExactAsLongAsTheyFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := newDigests(200)
		different := map[int]int64{}
		bodies := rapid.SliceOf(rapid.IntRange(0, 199)).Draw(t, "bodies")
		for _, i := range bodies {
			d.add(digestOf(i), int64(i))
			different[i] = int64(i)
		}
		bytes := int64(0)
		for _, length := range different {
			bytes += length
		}
		count := d.distinct(int64(len(bodies)))
		if !count.Exact || count.Bodies != int64(len(different)) || count.Bytes != bytes {
			t.Fatalf("%d bodies of %d bytes are counted as %+v", len(different), bytes, count)
		}
		if len(bodies) > 0 && count.Ratio != float64(len(different))/float64(len(bodies)) || len(bodies) == 0 && count.Ratio != 1 {
			t.Fatalf("of %d bodies %d are different: a ratio of %v", len(bodies), len(different), count.Ratio)
		}
	})
}

// What doesn't fit is estimated, within three times the error that is to be
// expected, and takes no more memory.
func TestDigests_AreEstimatedWhenTheyDontFit(t *testing.T) {
	const most, different, length = 4096, 100_000, 1000
	d := newDigests(most)
	for i := range 2 * different {
		d.add(digestOf(i%different), length)
		if len(d.kept) > most {
			t.Fatalf("%d digests are kept", len(d.kept))
		}
	}
	count := d.distinct(2 * different)
	wrong := math.Abs(float64(count.Bodies)/different - 1)
	if count.Exact || wrong > 3*1.2/math.Sqrt(most) {
		t.Errorf("%d different bodies are counted as %+v", different, count)
	}
	if count.Bytes != count.Bodies*length {
		t.Errorf("%d bodies have %d bytes", count.Bodies, count.Bytes)
	}
}
