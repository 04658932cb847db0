// Package restore puts an installation in step again after one of its databases was
// put back to an earlier time while the others went on.
//
// Each data database is right by itself then, as it was at its own moment. What is
// no longer true is what holds between them, and between them and whoever they have
// told something: that a key is one record's, that an epoch has one holder, that a
// place in a stream is given out once. So a restored database's numbers stay closed,
// and its tenants get a retryable answer for them, while the others serve:
//
//	Close ──▶ Reconcile, until nothing is left to decide ──▶ Open
//
// Close notes the restore in the database itself, under an id of its own. Reconcile
// goes through all tenants, and through each domain of each: the tenant's gates are
// put where its control row is (tenancy), or the other way round where it was the
// control database that was restored; claims are rebuilt from records, and keys that
// two records have are told (identity); every world gets a new epoch, by journaled
// entries (lease); the streams that others follow, revisions and generations go on
// at an era of which nobody has seen a number (domain.NextEra; identity, record);
// migrations that had come further are stopped for a review (migration). What was
// purged meanwhile is removed again. Each of these says in its own package why what
// it does is right, and what it can't bring back.
//
// Everything is done in bounded steps, each in one number, and found done when it is
// met again. A run that dies is repeated, and two at once do each other no harm.
package restore
