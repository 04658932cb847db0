package migration

import (
	"math"
	"time"
)

// Rate is how fast a small migration was, from its slowest pass to its fastest. The
// zero value is one that nobody has measured.
type Rate struct {
	LowRecords  float64 // a second
	HighRecords float64
	LowBytes    float64 // of bodies, a second
	HighBytes   float64
}

// rate is what the qualification measured of a kind of migration.
func (q *Qualification) rate(kind Kind) Rate {
	moved := q.Forward
	if kind == Rehydrate {
		moved = q.Back
	}
	return Rate{
		LowRecords: float64(moved.LowRecords) / time.Minute.Seconds(), HighRecords: float64(moved.HighRecords) / time.Minute.Seconds(),
		LowBytes: float64(moved.LowBytes), HighBytes: float64(moved.HighBytes),
	}
}

// estimate is how long so many records with so many bytes take; nil when nobody
// can tell. Small bodies are bounded by their number, and large ones by their
// bytes: whichever takes longer counts.
func (r Rate) estimate(records, bytes int64) *Estimate {
	if r.LowRecords <= 0 || r.HighRecords <= 0 || r.LowBytes <= 0 || r.HighBytes <= 0 {
		return nil
	}
	seconds := func(recordRate, byteRate float64) int64 {
		return int64(math.Ceil(max(float64(records)/recordRate, float64(bytes)/byteRate)))
	}
	return &Estimate{LowSeconds: seconds(r.HighRecords, r.HighBytes), HighSeconds: seconds(r.LowRecords, r.LowBytes)}
}
