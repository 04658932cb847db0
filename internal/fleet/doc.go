// Package fleet moves numbers from one data database to another. PostgreSQL's
// logical replication copies their rows while they are served (Prepare says what it
// publishes; a superuser's statements, in deploy/fleet, begin it and end it). Then
// the numbers are closed (postgres.CloseNumbers), the rest is waited for (Await),
// both sides are compared (Compare), the numbers are opened where they went (Open),
// and their rows are removed from where they were (Clean). docs/fleet.md has the
// order, and the way back from each step.
//
// It runs as the owner. A number is open on one database at most, at any time; each
// step may be repeated, whatever a crash has left of it.
package fleet

// The publication, the subscription and its replication slot have one name: there
// is one move at a time from a database, and one to a database.
const moveName = "holdfast_move"
