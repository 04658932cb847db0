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
// format, and what is left in the old one only shrinks. A pass (pass.go) captures
// a few records, verifies them, brings their bodies into the store, each read back
// whole, and then, in one transaction, reads them again and moves those that are
// just as they were captured. Its fence is the checkpoint's token: two workers may
// be at it, and one commits. Nothing that a reader sees changes by a move.
//
// A sweep (walk.go) goes through the rows up to the frontier, the last one at the
// switch, and then again, over what had changed meanwhile or was deferred. It ends
// when the table has no row left, and not when a cursor has come to an end.
package migration
