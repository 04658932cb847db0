package postgres

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Placement names the data database of each number.
type Placement [domain.Numbers]string

// PlaceAll puts every number on one database.
func PlaceAll(name string) Placement {
	var p Placement
	for n := range p {
		p[n] = name
	}
	return p
}

// Spread puts the numbers on the databases in equal runs, in the order given.
func Spread(names ...string) Placement {
	var p Placement
	for n := range p {
		p[n] = names[n*len(names)/domain.Numbers]
	}
	return p
}

// ParsePlacement reads "data1=0-31 data2=32,33,40-63 …". Every number must be
// placed exactly once, on a database among names. The error tells every fault.
func ParsePlacement(text string, names []string) (Placement, error) {
	var p Placement
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }

	for _, entry := range strings.Fields(text) {
		name, ranges, ok := strings.Cut(entry, "=")
		if !ok {
			fault("%q is not NAME=NUMBERS", entry)
			continue
		}
		if !slices.Contains(names, name) {
			fault("%q is not one of the data databases (%s)", name, strings.Join(names, ", "))
			continue
		}
		for _, r := range strings.Split(ranges, ",") {
			first, last, err := parseRange(r)
			if err != nil {
				fault("%q: %v", entry, err)
				continue
			}
			for n := first; n <= last; n++ {
				if p[n] != "" {
					fault("number %d is placed twice (%s, %s)", n, p[n], name)
				}
				p[n] = name
			}
		}
	}
	var missing []string
	for n, name := range p {
		if name == "" {
			missing = append(missing, strconv.Itoa(n))
		}
	}
	if len(missing) > 0 {
		fault("numbers placed nowhere: %s", strings.Join(missing, ", "))
	}
	if len(faults) > 0 {
		return Placement{}, fmt.Errorf("%s", strings.Join(faults, "; "))
	}
	return p, nil
}

func parseRange(text string) (first, last int, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	low, errLow := strconv.ParseUint(from, 10, 8)
	high, errHigh := strconv.ParseUint(to, 10, 8)
	if errLow != nil || errHigh != nil || low > high || high >= domain.Numbers {
		return 0, 0, fmt.Errorf("%q is not a number or a range within 0-%d", text, domain.Numbers-1)
	}
	return int(low), int(high), nil
}
