package jobs

import "github.com/riverqueue/river"

// LeaseSweep settles what is due of worlds and nobody has come by to do: leases
// whose time is over, rejections that are counted, lines that nobody stands in any
// more. In all numbers of one data database and for all tenants.
type LeaseSweep struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (LeaseSweep) Kind() string { return "lease_sweep" }

// InsertOpts: one job a database.
func (LeaseSweep) InsertOpts() river.InsertOpts { return oneOnDatabase(queueLeases) }

func (j LeaseSweep) on() string { return j.Database }
