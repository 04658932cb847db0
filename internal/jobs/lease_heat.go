package jobs

import "github.com/riverqueue/river"

// LeaseHeat judges how busy worlds are, and advises their holders, in all numbers of
// one data database and for all tenants.
type LeaseHeat struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (LeaseHeat) Kind() string { return "lease_heat" }

// InsertOpts: one job a database.
func (LeaseHeat) InsertOpts() river.InsertOpts { return oneOnDatabase(queueWorlds) }

func (j LeaseHeat) on() string { return j.Database }
