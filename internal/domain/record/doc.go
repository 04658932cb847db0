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
package record
