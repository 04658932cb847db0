package main

import (
	"fmt"
	"io"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// planParts show a plan: what is approved, and then what was counted, which isn't a
// part of it.
func planParts(p holdfast.MigrationPlan) []answer {
	o := p.Observations
	parts := []answer{packetView.one(packet{p.PlanHash, p.Packet}), countView.one(p), sectionCountView.table(sectionCounts(o)), sizeView.table(filledSizes(o.Sizes))}
	parts = withTable(parts, defectView, o.Defects.First)
	return append(parts, databaseView.table(o.Databases), said(countsNote))
}

const countsNote = "The counts are outside of the plan, and old when they are read. No content was read: one that isn't its\n" +
	"digest's is met by a pass only. What could become free is room for other rows: no file shrinks by it."

func showPlan(p holdfast.MigrationPlan) answer {
	parts := planParts(p)
	return answer{value: p, write: func(out io.Writer) error { return writeParts(out, parts) }}
}

// countView is of what was counted in all.
var countView = view[holdfast.MigrationPlan]{
	{"COUNTED", func(p holdfast.MigrationPlan) string { return when(p.CountedAt) }},
	{"TO MOVE", func(p holdfast.MigrationPlan) string {
		t := p.Observations.Total
		return fmt.Sprintf("%s with %s of %s, and %s", counted(t.Records, "record"), counted(t.LiveSections, "body"), sized(t.Bytes), counted(t.Tombstones, "tombstone"))
	}},
	{"BAD ROWS", func(p holdfast.MigrationPlan) string {
		d := p.Observations.Defects
		return fmt.Sprintf("%d of another length, %d that the export contradicts", d.LengthMismatch, d.ExportMismatch)
	}},
	{"REQUESTS", func(p holdfast.MigrationPlan) string {
		q := p.Observations.Requests
		return fmt.Sprintf("%d to %d PUT, %d to %d GET", q.LeastPuts, q.MostPuts, q.LeastGets, q.MostGets)
	}},
	{"GROWTH", func(p holdfast.MigrationPlan) string {
		g := p.Observations.Growth
		return fmt.Sprintf("%s of %s in the store, %s in SQL", counted(g.StoreObjects, "object"), sized(g.StoreBytes), sized(g.SQLBytes))
	}},
	{"PRICE", func(p holdfast.MigrationPlan) string {
		c := p.Observations.Price
		return fmt.Sprintf("%.2f to %.2f US dollars once, and %.2f a month", c.LeastOnce, c.MostOnce, c.StorageAMonth)
	}},
	{"TIME", func(p holdfast.MigrationPlan) string {
		e := p.Observations.Estimate
		if e == nil {
			return "nobody knows: no rate was measured"
		}
		return lasting(&e.LowSeconds, time.Second) + " to " + lasting(&e.HighSeconds, time.Second) + ", by the qualification's rates; no promise"
	}},
}

// sectionCount is one section of one collection.
type sectionCount struct {
	collection holdfast.CollectionCount
	holdfast.SectionCount
}

func sectionCounts(o holdfast.MigrationObservations) []sectionCount {
	var all []sectionCount
	for _, c := range o.Collections {
		for _, s := range c.Sections {
			all = append(all, sectionCount{c, s})
		}
	}
	return all
}

var sectionCountView = view[sectionCount]{
	{"COLLECTION", func(c sectionCount) string { return c.collection.Collection }},
	{"FORMAT", func(c sectionCount) string { return fmt.Sprint(c.collection.Format) }},
	{"DISTINCT", func(c sectionCount) string {
		about := ""
		if !c.collection.Distinct.Exact {
			about = "about "
		}
		return fmt.Sprintf("%s%.1f %%", about, c.collection.Distinct.Ratio*100)
	}},
	{"SECTION", func(c sectionCount) string { return c.Section }},
	{"BODIES", func(c sectionCount) string { return fmt.Sprint(c.LiveSections) }},
	{"BYTES", func(c sectionCount) string { return fmt.Sprint(c.Bytes) }},
	{"TOMBSTONES", func(c sectionCount) string { return fmt.Sprint(c.Tombstones) }},
}

// filledSizes leaves out ranges of lengths that no body has.
func filledSizes(all []holdfast.SizeBucket) []holdfast.SizeBucket {
	var filled []holdfast.SizeBucket
	for _, b := range all {
		if b.Bodies > 0 {
			filled = append(filled, b)
		}
	}
	return filled
}

var sizeView = view[holdfast.SizeBucket]{
	{"BODIES UP TO", func(b holdfast.SizeBucket) string {
		if b.UpToBytes < 0 {
			return "larger"
		}
		return sized(b.UpToBytes)
	}},
	{"BODIES", func(b holdfast.SizeBucket) string { return fmt.Sprint(b.Bodies) }},
	{"BYTES", func(b holdfast.SizeBucket) string { return fmt.Sprint(b.Bytes) }},
}

var defectView = view[holdfast.SectionDefect]{
	{"BAD ROW OF", func(d holdfast.SectionDefect) string { return d.Collection }},
	{"RECORD", func(d holdfast.SectionDefect) string { return fmt.Sprintf("%q", d.Key) }},
	{"SECTION", func(d holdfast.SectionDefect) string { return fmt.Sprintf("%q", d.Section) }},
	{"REASON", func(d holdfast.SectionDefect) string { return d.Reason }},
}

var databaseView = view[holdfast.DatabaseSize]{
	{"DATABASE", func(d holdfast.DatabaseSize) string { return d.Database }},
	{"SIZE", func(d holdfast.DatabaseSize) string { return sized(d.Bytes) }},
	{"CONNECTIONS", func(d holdfast.DatabaseSize) string {
		return fmt.Sprintf("%d of %d", d.Connections, d.ConnectionsAllowed)
	}},
	{"COULD BECOME FREE", func(d holdfast.DatabaseSize) string { return sized(d.Reclaimable.LogicalBytes) }},
	{"DEAD ROWS", func(d holdfast.DatabaseSize) string { return sized(d.Reclaimable.DeadBytes) }},
	{"FILES", func(d holdfast.DatabaseSize) string { return sized(d.Reclaimable.FileBytes) }},
}
