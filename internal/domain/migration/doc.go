// Package migration moves a tenant's bodies from SQL into the object store, and
// back: planned, approved, bounded, resumable and verified.
//
// A migration's plan, approvals and states are in the control database. What must
// commit with the records that it moves, a collection's checkpoint, stands beside
// the collection, in its number. So a pass is one local transaction, whatever
// other collections do, and a process that dies between two of them leaves at
// worst objects that nothing refers to.
//
// A collection accepts a plan in one transaction (accept.go) that switches its
// format under its row's lock: from then on whoever commits there writes the new
// format, and what is left in the old one only shrinks. A pass (line.go, pass.go)
// captures a few records, verifies them, brings their bodies into the store, each
// read back whole, and then, in one transaction, reads them again and moves those
// that are just as they were captured. Its fence is the checkpoint's token: two
// workers may be at it, and one commits. Nothing that a reader sees changes by a
// move. The way back is the same over another direction (direction.go).
//
// A sweep (walk.go) goes through the rows up to the frontier, the last one at the
// switch, and then again, over what had changed meanwhile or was deferred. It ends
// when the table has no row left, and not when a cursor has come to an end.
//
// Who acts is an operator, on a plan that is named by its hash. A migration's state
// (state.go) and revision are compared by each transition (transition.go), which is
// kept with who made it. A request (request.go) gets a plan (preview.go, packet.go,
// observations.go), which another operator approves (approve.go); an activation
// (activate.go) uses that up; runs (run.go) are worked in shifts (work.go, workend.go); and
// what ends well is verified (verify.go, scrub.go) and closed (close.go). What fails
// is put into one of a few categories (failure.go) and stops it for a review
// (pause.go). While it is held another build may take it over (requalify.go). The
// hold stands in the checkpoints and carries the revision, so that of a pause and a
// resumption the later one counts, in whatever order they arrive.
package migration
