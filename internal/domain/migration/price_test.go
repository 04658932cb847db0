package migration

import (
	"math"
	"testing"
)

func TestPrices_OfAMillionBodies(t *testing.T) {
	price := DefaultPrices.of(Requests{LeastPuts: 1e6, MostPuts: 2e6, LeastGets: 1e6, MostGets: 2e6}, Growth{StoreBytes: 100e9})
	want := Price{LeastOnce: 4.86, MostOnce: 9.72, StorageMonth: 1.5}
	for name, pair := range map[string][2]float64{
		"least": {price.LeastOnce, want.LeastOnce}, "most": {price.MostOnce, want.MostOnce}, "storage": {price.StorageMonth, want.StorageMonth},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
}

func TestEstimate_IsARange_AndUnknownWithoutARate(t *testing.T) {
	rate := (&Qualification{
		Forward: Movement{LowRecords: 600, HighRecords: 6000, LowBytes: 1e6, HighBytes: 4e6},
		Back:    Movement{LowRecords: 60, HighRecords: 120, LowBytes: 1e6, HighBytes: 4e6},
	})
	for _, c := range []struct {
		name           string
		kind           Kind
		records, bytes int64
		low, high      int64
	}{
		{"small bodies take by their number", RecordBodies, 1000, 1000, 10, 100},
		{"large ones by their bytes", RecordBodies, 10, 1e9, 250, 1000},
		{"the way back has its own rate", Rehydrate, 1000, 1000, 500, 1000},
		{"nothing takes no time", RecordBodies, 0, 0, 0, 0},
	} {
		if got := rate.rate(c.kind).estimate(c.records, c.bytes); got == nil || *got != (Estimate{c.low, c.high}) {
			t.Errorf("%s: %+v, want %d to %d", c.name, got, c.low, c.high)
		}
	}
	if got := (Rate{}).estimate(1000, 1000); got != nil {
		t.Errorf("without a rate: %+v", got)
	}
}
