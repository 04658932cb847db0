// Package record keeps a tenant's canonical records: what the bytes of a thing
// are, who published them, and in which order.
//
// A tenant has collections; a collection has records by item key; a record has
// sections, as its collection's profile names them. A section is live, with a
// body of exact bytes, or a tombstone. A publication changes a record by
// compare-and-swap under an operation id, and leaves a receipt.
//
// Bodies are in SQL (format 1) or in an object store (format 2). A collection's
// row has its format, and whatever commits in the collection locks the row. A
// body goes into the store, and is read back whole, before the transaction that
// names it; so a crash leaves at worst an object that nothing refers to.
//
// The files:
//
//	collection, profile, name   collections and what they may hold
//	publication, fingerprint    what a caller asks for
//	publish, prepare            from the request to the committed receipt
//	decide, look, locked        decisions that share a transaction, and what they look at
//	apply, expect, write        the rules of one publication, and its rows
//	record, body, memory        reading, verified and bounded
//	export                      the feed of changes
//	batch…                      items that a producer claims to work on
//	snapshot…                   a collection as it stood, written to the store
//	cleanup…, unreferenced…     what has had its time goes, and what nothing refers to is counted
//	store, lifecycle            the object store as this package needs it
//	check…                      all of that, held to what must be true of it
package record
