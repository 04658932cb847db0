// Package claimsmodel searches every interleaving of the claims protocol for a
// state that breaks one of its promises. It is an explicit-state model checker
// and nothing else: all of it is test code, no binary contains it, and it
// shares no code with the implementation, so that neither can hide the other's
// mistake.
//
// # What is modelled
//
// A state is what the buckets hold and what is under way between them: each
// record's row with its operation and its pending change, the claim on each key,
// and for each change how far its caller has come, which messages of it may still
// arrive, and what the caller was told. A move is one decision in one bucket, the
// passing of a moment (a deadline, a quarantine, a code's expiry), a crash of a
// database, or a caller's own choice (giving up, taking a lost answer for
// unknown).
//
// The changes are those of the directory: creations, repeated ones too, which may
// be prepared in vain beside the record that they made; email changes, which are
// begun, then confirmed (prepared, claimed, committed, released), replaced or
// cancelled; removals of a key and deletions, each with its prepare and its commit
// in one decision; key-preserving updates; removals of devices, whose codes expire.
// Up to three callers contend for up to three keys, with at most three records.
//
//   - Delay and duplication are the rule. Once a message may have been sent, it
//     may arrive at any time and any number of times: a claim after its operation
//     was aborted and cleared, a release after the key went to somebody else, a
//     commit whose caller has long left. The exception is what may arrive at most
//     once, late or never: a prepare, or a change that is one decision. A caller
//     that doesn't know how its prepare went must draw a new token.
//   - Helpers are many and without memory: whatever one of them may decide may be
//     carried out at any time later, by any of them.
//   - A crash of a process is a caller that takes no further move. It needs no move
//     of its own, since every state is also judged as if all callers had stopped
//     there.
//   - A crash of a database loses what didn't wait for the disk: the prepare of a
//     creation, the release of a claim, the clearing of an operation, while callers
//     live on.
//   - Time is a set of moves: a deadline passes whenever it pleases, and then it
//     has passed for good. The clocks of a code's two buckets differ.
//
// Not modelled: how deep a caller recovers its rivals before it answers a
// retryable conflict (any depth is among the interleavings), and the gates of
// numbers and tenants.
//
// # What must hold
//
// The invariants are in invariants_test.go, and say in their own words what the
// decisions decide. From each state, recovery is also run to its end with callers
// and messages silent: then no operation is pending, no claim is left that its
// owner doesn't know, and every key that no record holds is free.
//
// # Why to believe it
//
// Each fault in faults_test.go takes one guard out of a decision. The tests prove
// that the search finds a counterexample for it, with a shortest trace (shown by
// go test -v), or name the guard that backs it; and that the protocol as designed
// has none in the whole state space of each scenario.
package claimsmodel
