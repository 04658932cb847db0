package jobs

import (
	"time"

	"github.com/riverqueue/river"
)

// Schedule is a recurring job: one kind for one data database. The kind and the
// database name it in the table.
type Schedule struct {
	Job      river.JobArgs // unique while unfinished
	Database string
	Every    time.Duration // between two runs
}

// next is the first run after now on the grid that due lies on: a schedule that
// nobody served for an hour is due once, and then as ever.
func (s Schedule) next(due, now time.Time) time.Time {
	missed := now.Sub(due) / s.Every
	return due.Add((missed + 1) * s.Every)
}
