package migration

import "github.com/holdfast-dev/holdfast/internal/domain"

// Caps bound one pass.
type Caps struct {
	Inspected int   `json:"inspected_rows"`   // 1 to 64
	Records   int   `json:"records"`          // 1 to 4; one record always goes, however large
	Bytes     int64 `json:"bytes"`            // of bodies: 64 KiB to 8 MiB
	InFlight  int   `json:"bodies_in_flight"` // 1 to 4
}

// DefaultCaps are also the largest.
var DefaultCaps = Caps{Inspected: 64, Records: 4, Bytes: 8 << 20, InFlight: 4}

const minBytes = 64 << 10

func (c Caps) check() error {
	switch {
	case c.Inspected < 1 || c.Inspected > DefaultCaps.Inspected,
		c.Records < 1 || c.Records > DefaultCaps.Records,
		c.Bytes < minBytes || c.Bytes > DefaultCaps.Bytes,
		c.InFlight < 1 || c.InFlight > DefaultCaps.InFlight:
		return errCaps
	}
	return nil
}

// within tells that none of the caps is above the other's.
func (c Caps) within(other Caps) bool {
	return c.Inspected <= other.Inspected && c.Records <= other.Records && c.Bytes <= other.Bytes && c.InFlight <= other.InFlight
}

var (
	errCaps = domain.Invalid("caps_invalid",
		"A pass inspects 1 to 64 rows, moves 1 to 4 records of 64 KiB to 8 MiB of bodies, and has 1 to 4 bodies in flight.").At("/caps")
	errCapsRaised = domain.Conflict("caps_raised",
		"Caps may be lowered while a migration goes on. To raise them make a new plan, and have it approved.")
)
