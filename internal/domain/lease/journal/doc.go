// Package journal is the record of one world: its entries, the hash that chains
// them, and the rules by which the write lease passes from writer to writer. It
// does no I/O of its own; what is here can be computed by anyone, offline, from
// the journal alone.
//
// # Chain
//
// Entries stand at positions 1, 2, 3, … Each has the hash
//
//	hash(n) = SHA-256(hash(n-1) ‖ header(n) ‖ SHA-256(payload(n)))
//	hash(0) = SHA-256("holdfast-journal-v1\n" ‖ tenant id ‖ "\n" ‖ world id ‖ "\n")
//
// where hashes are 32 bytes and the header is the RFC 8785 JSON of
//
//	{"actor":{…},"at":"…","details":{…},"entry_id":"…","epoch":1,"kind":"…","position":1}
//
// without entry_id where the entry has none. Times are RFC 3339 in UTC with six
// digits behind the point. testdata/golden.json has worked examples.
//
// # Writers
//
// At each position at most one writer holds the lease. Epochs number the
// writers: a grant and a handoff raise the epoch by one, and nothing else
// changes it.
//
//	kind              acts                            allowed
//	world_created     whoever made the world          at position 1 only; the coordinator holds, epoch 1
//	lease_handed_off  the holder; for the             in force; from the holder to another writer,
//	                  coordinator also the new one    or to itself anew (a takeover)
//	lease_activated   the holder                      in force, once
//	lease_renewed     the holder                      in force; never shortens, keeps the term
//	lease_revoked     by, or the coordinator          a principal holds; reason "expiry" is the
//	                                                  coordinator's, once the lease has ended
//	lease_granted     the coordinator                 right behind lease_revoked, to the coordinator
//	entry             the holder; any principal       in force and activated
//	                  while the coordinator holds
//	append_rejected   the coordinator, or who         any time
//	                  presented
//	advice            the coordinator                 any time
//	world_retired     whoever retired the world       while the coordinator holds; nothing comes behind
//
// A principal's lease is in force before its expiry. Entries' times never
// decrease, and nothing else is asked whether a lease has ended: so whoever
// writes takes the later of the clock and the last entry's time, and judges by
// that.
package journal
