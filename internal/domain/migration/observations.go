package migration

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Observations are what a preview counted: of the sections that a migration would
// move, which stand where their bodies are now, in SQL, or on the way back in the
// store. They are outside of the plan's packet, since they are old when they have
// been read. Nothing is written, and no body's content is read, so that a content
// that isn't its digest's is met by a pass only: ContentsRead says so.
type Observations struct {
	BeganAt      time.Time         `json:"began_at"` // of the first page; writers went on meanwhile
	EndedAt      time.Time         `json:"ended_at"`
	ContentsRead bool              `json:"contents_read"` // always false
	Collections  []CollectionCount `json:"collections"`   // all covered ones, by name
	Total        Count             `json:"total"`
	Sizes        []SizeBucket      `json:"sizes"` // of live bodies
	Defects      DefectCount       `json:"defects"`
	Requests     Requests          `json:"requests"`
	Growth       Growth            `json:"growth"`
	Prices       Prices            `json:"prices"` // that Price goes by
	Price        Price             `json:"price"`
	Estimate     *Estimate         `json:"estimate"` // null when no rate was measured
	Databases    []DatabaseSize    `json:"databases"`
}

// Count is what was counted of records, or of one section of them.
type Count struct {
	Records    int64 `json:"records"`
	Live       int64 `json:"live_sections"` // as many bodies
	Tombstones int64 `json:"tombstones"`
	Bytes      int64 `json:"bytes"` // of bodies
}

// CollectionCount is what was counted of one collection.
type CollectionCount struct {
	Name     string              `json:"collection"`
	ID       domain.CollectionID `json:"collection_id"`
	Format   int16               `json:"format"` // before the migration, or already after it
	Count                        // of all sections
	Sections []SectionCount      `json:"sections"` // by name
	Distinct Distinct            `json:"distinct"`
}

// SectionCount is what was counted of one section.
type SectionCount struct {
	Section string `json:"section"`
	Count
}

// Distinct are a collection's bodies without repetitions, since equal bodies of one
// collection are one object.
type Distinct struct {
	Bodies int64 `json:"bodies"`
	Bytes  int64 `json:"bytes"`
	// Exact is false for a collection of so many distinct bodies that they are
	// estimated, to about a quarter of a per cent (digests.go).
	Exact bool `json:"exact"`
	// Ratio is distinct bodies by live ones: 1 when no two are equal, and when there
	// are none.
	Ratio float64 `json:"ratio"`
}

// DefectCount are sections that no pass could move as they are.
type DefectCount struct {
	Length int64         `json:"length_mismatch"` // record.DefectLength
	Export int64         `json:"export_mismatch"` // record.DefectExport
	First  []FoundDefect `json:"first"`           // firstDefects of them, in the order of the count
}

// FoundDefect names a section that isn't what its row says.
type FoundDefect struct {
	Collection string `json:"collection"`
	Key        string `json:"key"`
	Section    string `json:"section"`
	Reason     string `json:"reason"`
}

// Requests are what the object store is asked, retries aside. At least one of each
// for every distinct body; and at most for every live one, since passes that meet
// an equal body ask for it again.
type Requests struct {
	LeastPuts int64 `json:"least_puts"` // refused ones too: they are billed alike
	MostPuts  int64 `json:"most_puts"`
	LeastGets int64 `json:"least_gets"`
	MostGets  int64 `json:"most_gets"`
}

// Growth is by how much the places of bodies grow.
type Growth struct {
	StoreObjects int64 `json:"store_objects"`
	StoreBytes   int64 `json:"store_bytes"`
	SQLBytes     int64 `json:"sql_bytes"` // of bodies, without what PostgreSQL adds to them
}

// Estimate is how long the moving takes, by rates that were measured with a small
// migration: a range, and no promise.
type Estimate struct {
	LowSeconds  int64 `json:"low_seconds"`
	HighSeconds int64 `json:"high_seconds"`
}

// DatabaseSize is what a data database has and may have. Sizes are of the whole
// database, all of its tenants'.
type DatabaseSize struct {
	Name               string      `json:"database"`
	Bytes              int64       `json:"bytes"`               // pg_database_size
	Connections        int         `json:"connections"`         // of the whole server
	ConnectionsAllowed int         `json:"connections_allowed"` // likewise, without those that superusers keep for themselves
	Reclaimable        Reclaimable `json:"reclaimable"`
}

// Reclaimable are the bytes of bodies in SQL that could become free. No file
// shrinks by a migration: what is moved becomes room for other rows of the same
// table, once it was vacuumed.
type Reclaimable struct {
	Logical int64 `json:"logical_bytes"` // this migration's bodies on this database; 0 on the way back
	Dead    int64 `json:"dead_bytes"`    // an estimate by pg_stat_all_tables; the whole database's
	File    int64 `json:"file_bytes"`    // of the tables of bodies, with indexes and TOAST; the whole database's
}
