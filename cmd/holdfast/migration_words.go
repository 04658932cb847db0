package main

import (
	"fmt"
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
func movedOf(p holdfast.MigrationProgress) string {
	return fmt.Sprintf("%d of %s%d records", p.Total.Records, atLeast(p.Left), p.Total.Records+p.Left.Records)
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
