// Package jobs runs the background work, on River in the control database.
//
// A kind of job is a type in a file of its own. A sweeping kind has one job a
// data database, which walks the numbers that live there, so that an idle
// installation costs the same for ten tenants or ten thousand.
//
// # What a kind must keep to
//
//   - It works in bounded steps, each a decision of the domain with its own
//     guard, and keeps its place in the domain's tables. So it may be killed at
//     any line, and may run twice at once.
//   - It looks for the end of its budget, and for the end of the process, before
//     each step, and leaves the rest to the next run. A budget lies well inside
//     jobTimeout, and that inside rescueAfter: River gives a job that was killed
//     to another worker only then, and has no heartbeat.
//   - It is registered on every client that may lead: River's leader discards
//     stuck jobs of kinds that it doesn't know.
//
// # Slices
//
// A migration's run goes on for up to 50 minutes, and a scrub for longer: slice by
// slice, each a job that commits its end together with the next one (migration_slice.go).
// A run is worked by workers of its plan's build only, which listen to a queue that
// is named after it. The runs of a tenant take turns, so that it has one slice at a
// time, and tenants do by the order of the queue. What is open and has no job gets one
// from the watch.
//
// # Purges
//
// The purges of tenants have one job for all of them, which names none: a purge that
// is done leaves no job behind that does (tenant_purge.go).
//
// # Schedules
//
// River's own periodic jobs live in its leader's memory. Here the table
// schedules says when each recurring job runs next, every worker looks at it,
// and who moves next_run_at on has the run: it inserts the job in the same
// transaction. A job is unique as long as it is unfinished, so a run that comes
// too soon is the one before.
package jobs
