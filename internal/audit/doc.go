// Package audit keeps the log of administrative acts: who did what, from where,
// when, and what it changed; and of every refusal of one.
//
// # The chain
//
// The entries of an installation are one chain. Each has the number behind that of
// the one in front, and its hash; its own hash is the SHA-256 of all its other
// members as canonical JSON (RFC 8785). So nobody can change, drop, add or reorder an
// entry without changing every hash behind it, and whoever keeps one hash elsewhere
// (a Head) can tell. The log is verified by what is in a file, with nothing else
// (Verify).
//
// Who appends holds a lock of the control database until the commit, so that numbers
// are dense and times never decrease. The serving roles may add entries and read them,
// and neither change nor delete any.
//
// # An act
//
//	begun ──▶ the act ──▶ done, refused or failed
//
// An act is begun in the log before anything is done: what can't be written there
// isn't done. Its outcome is a second entry, which names the first. A crash in between
// leaves the first without the second: whether the act was done is unknown then, and
// whoever reads the log is told so by that. What is refused before it is begun, for
// want of a token say, is one entry.
//
// Refusals that come in floods (Refusals) are written one by one up to a bound, and
// beyond it counted, so that nobody can fill the log from outside. What a tenant's own
// principals may do is bounded before it is begun (Log.Admit), so that they can't
// either, nor keep others from appending.
//
// What commits in the control database alone has one entry, which commits with it
// (AppendTx).
//
// What an act changed is told by two digests: of the thing's representation as the API
// gives it, as canonical JSON, before and after. The log holds no representation and
// no secret.
//
// # Retention
//
// Entries are kept for 400 days. Then they are cut off at the front (Cut): an entry at
// the end says up to which number, and the hash there, and what is left begins behind
// that hash. The function of the database that deletes them deletes no younger ones,
// whoever calls it.
package audit
