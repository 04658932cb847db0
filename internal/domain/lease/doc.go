// Package lease keeps worlds and their journals: who may write, and what was
// written.
//
// A world has one journal, of entries at positions 1, 2, 3, … with no gap, each
// chained to the one before by a hash (package journal). Its head says where the
// journal ends and who may write there. The lease lives in the journal itself:
// every change of the writer is an entry. So the head is derived state, and
// replaying the journal gives exactly it, but for the hash of the lease's secret
// and the request that it belongs to.
//
// # Why two writers are impossible
//
// An entry is accepted only in a transaction that holds the head's lock and finds
// there the epoch, the secret and the principal that the writer presents. Every
// change of the writer changes epoch and secret in that row, under that lock, as one
// entry at one position. Before that position only the old secret matches, and
// behind it only the new one. There is no way to an entry around the head: its
// position comes from there, and each position is a key.
//
// The clock plays no part in that. Expiry decides only when the coordinator, which
// is Holdfast, may change the writer; the clock is the database's, read behind the
// head's lock, and never goes back behind the last entry.
//
// # Decisions
//
// Everything that happens to a world is a decision under its head's lock. Decisions
// of one tenant on one database that arrive while a transaction is under way go out
// together in the next, across worlds (decide.go, flush.go): heads are locked in key order,
// and those that another process holds are left out and asked for again; what the
// decisions look at and the clock are read behind the locks; the decisions are made
// in memory, one behind the other; then all entries and heads are written and
// committed in one round trip. Nobody is answered before that.
//
// A decision writes through locked.write alone, which applies each entry to the head
// by the function that replays a journal. An entry that an auditor would refuse rolls
// its transaction back.
//
// A refusal is an answer, and what the decision wrote stays: a rejected append is
// journaled evidence, and whoever meets a lease whose time is over ends it first.
//
// # What nobody asks for
//
// A world that nobody comes to is settled by the worker (Sweep), which finds it among
// those of all tenants by its identity alone and then makes the decision that
// everybody's begins with. It also signs checkpoints (Checkpoint), which show later
// that no entry has changed or gone, and judges heat: processes count what they
// append, by world, and share it every ten seconds; whoever judges a minute of that
// journals the advice in the transaction that remembers it, so that it is given once.
//
// Check replays everything and says what isn't so.
//
// # Following
//
// Who follows a journal reads it by position, from the database alone (follow.go):
// positions are given out under the head's lock, which is held until the commit, so
// what is read in their order is complete. Being told that a journal has gone on is
// only a reason to read. In one process the hub tells it; between processes it is
// notified behind the commit, by what shares one statement (notify.go), since a
// NOTIFY in the transaction would put the commits of a whole cluster in line; and
// whatever is lost on the way the poll finds (followpoll.go).
package lease
