// Package purge deletes everything that a tenant has, once the grace of its deletion
// is over, and leaves a tombstone.
//
// A purge goes through steps, each bounded and safe to do twice. Where it stands is a
// row of the control database (tenant_purges), whose turn each step compares and
// moves on: of two workers at one tenant, one commits and the other starts over. So
// it may be killed at any line, and whoever comes next goes on.
//
//	gates          nothing leads back; every data database admits the purge alone
//	rows           number by number, in passes of a few hundred rows of any table
//	control        principals, keys, clients, migrations, … of the control database
//	jobs           River's of the tenant; those that run end at their next step
//	objects        below the tenant's prefix, page by page
//	wait           until no upload that was under way can still arrive
//	again_…        objects, rows, control and jobs once more: each must be empty
//	counts         no copy of a number that moves has rows; what was deleted goes into
//	               the tombstone,
//	forget         and the data databases forget it; the tenant is purged
//	close, done    its gates are closed for good
//
// What makes it complete:
//
//   - The gates come first, so that nobody can write behind a pass: a process that
//     was stopped before and goes on then can neither read nor write. In the control
//     database enter_control_write is the gate.
//   - The databases themselves say which tables have a tenant's rows, by their
//     columns, so that a new table is purged without being known here.
//   - Rows are deleted by functions of the owner's, since whoever serves may delete
//     neither journals nor worlds. They see the one tenant that they are entered for,
//     and only while it is being purged.
//   - What was deleted is counted in the transaction that deletes it. Objects are
//     counted before they are deleted, each once.
//
// A legal hold stops a purge between two steps: each step asks for it, and the gates
// of a tenant that is held admit nothing at all.
package purge
