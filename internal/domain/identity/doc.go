// Package identity is the directory: who a name belongs to.
//
// An account stands in the bucket of its id; each of its lookup keys (handle,
// email) is claimed in the bucket of the key. Buckets may live on different
// databases and no transaction spans two, so uniqueness comes from a protocol
// of single-bucket decisions, the claims protocol:
//
//  1. prepare, in the record's bucket: the whole proposed record, its new and
//     old links, a random token and a deadline are persisted as an operation.
//  2. claim, in each new key's bucket: the key is granted if no claim stands.
//  3. commit, in the record's bucket: only the operation that is prepared
//     there, before its deadline, on the revision that it was prepared from.
//     This is the only commit point.
//  4. release, in each old key's bucket: the claim is deleted if owner and token
//     are exactly those of the link.
//  5. finalize, in the record's bucket: the operation is cleared.
//
// An abort is decided in the record's bucket first, where the operation turns
// from prepared to aborted, which a commit can't pass; then its claims are
// released; then it is cleared. Releasing first would let a slow commit succeed
// without its claims.
//
// A creation whose record and keys all stand on one database makes decisions 1 to
// 3 in one transaction, where nothing that a crash could leave is ever seen. The
// steps one by one remain for everything else, and for whatever finds something in
// its way.
//
// # Invariants
//
// A token enters a row only at prepare and never returns once it has left, but for
// a decided operation that a crash of its database brings back to be cleared
// again. So a claim that its owner doesn't know (neither the record holds the key under the
// claim's token, nor the owner's operation under that token lists the key) is
// obsolete for good, and whoever meets it may remove it by exact token.
//
// A claim never makes a key resolvable; a record that agrees with it does. A
// lookup reads the claim, then the record, and answers only when both name the
// same key and token.
//
// # Recovery
//
// A prepared operation is nobody's but its caller's before the deadline. After
// it, whoever meets the operation finishes it: prepared is aborted, aborted is
// released and cleared, committed has its old claims released and is cleared.
// Any number may help at once, with the original still running, because each
// step is conditional on the token. Each file named after a step tells what a
// crash behind it leaves.
//
// # Cleanup
//
// What has had its time goes task by task (CleanupTask), each a bounded step in
// one number of all tenants, behind a cursor as the sweeps have one. A device goes
// before the claim of its code and before its account's link to it. Its events
// outlive it, and a tombstone outlives those of its account: so no id is used
// again while anything is told of it.
//
// Each step is a decision that may share a transaction with other decisions of
// the same tenant on the same database (tenancy.Sharer), and none depends on
// another in its transaction.
//
// # Changes of an account
//
// Everything that changes an account goes through changeAccount, under the locks
// of what decides there: the account, its pending email change, its operation.
// Each change writes the next revision and exactly one event.
//
// An email change is pending beside its account, where it touches nothing, until
// its code is shown. Judging the code prepares the operation; the new address is
// claimed; the commit marks the operation committed, and it stays until the old
// address is released. A change of no key goes through beside it, and then the
// email change fails at its commit, since the revision that it was prepared from
// has gone.
//
// # Events
//
// An event is written in its record's number, by the transaction that commits the
// revision. A number's events are a stream with a counter, whose row is locked
// from the counting to the commit: so a follower that has seen a sequence has
// missed none before it, whatever commits out of order.
//
// # Devices
//
// A device is a record whose one lookup key is its user code. The code's claim
// carries the code's expiry, and whoever finds it expired may replace it; neither
// the code nor its expiry ever changes.
//
// An account approves a device in two decisions: the link, in the account's
// bucket, under a lock that holds the account to be active; then the approval, in
// the device's, which alone counts. A link whose device doesn't agree is shown to
// nobody. Before a device is given anything its account is asked again, so an
// account that was deleted or disabled in between gives it nothing.
//
// Guesses of user codes are charged before the code is looked at, to the account
// and to one share of the tenant's, and refunded if the code was right: a crash
// leaves a charge, never a free guess.
//
// A device polls with its device code (RFC 8628), which is redeemed once, for the
// first of a chain of refresh tokens. Each is good once; one that comes again
// revokes the device (RFC 9700, section 4.14.2). Polls and turns of tokens are no
// changes of the record: they add nothing to its revision.
package identity
