package jobs

import "time"

const (
	// DefaultCleanupEvery is the time between two runs of a database's cleanup. What
	// it removes has waited for a day at least.
	DefaultCleanupEvery = 10 * time.Minute
	// DefaultRunBudget bounds a run: no step begins after it.
	DefaultRunBudget = 5 * time.Second
	// jobTimeout ends the context of a run whose last step doesn't end. A step is
	// a few statements, each of at most the role's statement_timeout, 10 s.
	jobTimeout = 30 * time.Second
	// rescueAfter is how long a job counts as running that says nothing. River
	// looks each 30 s, so a sweep whose worker was killed is missed for at most a
	// minute and a half; until then a request that meets unfinished work still
	// finishes it itself.
	rescueAfter = time.Minute

	// sliceFor is how long a slice of a migration's run begins passes, and
	// sliceTimeout ends the pass that is under way then; what it did is done over.
	// Handing on comes on top.
	// River rescues a job that has run for longer than both rescueAfter and its own
	// timeout, so a slice ends before that, and whose worker was killed is tried
	// again two minutes after it began at the latest: a minute, the 30 s between two
	// looks of the rescuer, sliceRetry, the 5 s between two looks of River's
	// scheduler, and the 15 s that a killed leader's term may last meanwhile. Before
	// that the watch gives it to another (migration.go).
	sliceFor      = 45 * time.Second
	sliceTimeout  = 55 * time.Second
	handOnTimeout = 4 * time.Second
	sliceRetry    = 5 * time.Second
	sliceAttempts = 5

	// keepFinished is how long finished jobs can be looked at. A schedule makes
	// thousands a day.
	keepFinished = time.Hour
	// keepFailed is the same for those that failed for good.
	keepFailed = 7 * 24 * time.Hour
)
