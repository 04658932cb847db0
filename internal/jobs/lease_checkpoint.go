package jobs

import "github.com/riverqueue/river"

// LeaseCheckpoint signs where journals end that have grown, once an hour each, in
// all numbers of one data database and for all tenants.
type LeaseCheckpoint struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (LeaseCheckpoint) Kind() string { return "lease_checkpoint" }

// InsertOpts: one job a database.
func (LeaseCheckpoint) InsertOpts() river.InsertOpts { return oneOnDatabase(queueWorlds) }

func (j LeaseCheckpoint) on() string { return j.Database }
