package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// reasonsOf joins why a migration is slow or doesn't go on; "" where there is nothing.
func reasonsOf(reasons []holdfast.MigrationReason) string {
	all := make([]string, 0, len(reasons))
	for _, r := range reasons {
		all = append(all, r.Text)
	}
	return strings.Join(all, " ")
}

// paceOf is how fast it was.
func paceOf(p *holdfast.MigrationPace) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f records/s, %s/s", p.RecordsPerSecond, sized(int64(p.BytesPerSecond)))
}

// movedOf is how much of all was moved.
func movedOf(s holdfast.TenantMigrationStatus) string {
	p := s.Progress
	if !isActivated(s.Migration) {
		return "nothing"
	}
	return fmt.Sprintf("%d of %s%s", p.Total.Records, atLeast(p.Left), counted(p.Total.Records+p.Left.Records, "record"))
}

// isActivated tells whether collections have accepted the plan. Before that nothing is
// known of what is left to move, but what the plan counts.
func isActivated(m holdfast.Migration) bool {
	return !slices.Contains([]string{"requested", "previewed", "approved", "aborted"}, m.State)
}

// counted is a number of things, by the noun for one of them.
func counted[T int | int64](n T, noun string) string {
	switch stem, y := strings.CutSuffix(noun, "y"); {
	case n == 1:
		return "1 " + noun
	case y:
		return fmt.Sprint(n, " ", stem, "ies")
	}
	return fmt.Sprint(n, " ", noun, "s")
}

// atLeast stands in front of a number that wasn't counted to its end.
func atLeast(left holdfast.MigrationLeft) string {
	if left.Whole {
		return ""
	}
	return "at least "
}

// percentOf is how much of all was moved, in hundredths; -1 where nobody knows.
func percentOf(p holdfast.MigrationProgress) int64 {
	all := p.Total.Records + p.Left.Records
	if !p.Left.Whole || all == 0 {
		return -1
	}
	return p.Total.Records * 100 / all
}

func leftOf(seconds *int64) string { return lasting(seconds, time.Second) }

// sized is a number of bytes for people.
func sized(bytes int64) string {
	if bytes < 1<<10 {
		return fmt.Sprint(bytes, " bytes")
	}
	size, unit := float64(bytes)/(1<<10), 0
	for ; size >= 1<<10 && unit < len(sizeUnits)-1; unit++ {
		size /= 1 << 10
	}
	return fmt.Sprintf("%.1f %s", size, sizeUnits[unit])
}

var sizeUnits = [...]string{"KiB", "MiB", "GiB", "TiB", "PiB"}
