// Package export reads everything that a tenant owns, page by page, as lines of JSON
// of one kind a thing: for the tenant, whether it is served, suspended or in the grace
// of its deletion.
//
// First comes what stands in the control database, and then number by number what
// stands in the data databases. Within both the order is that of kinds, and of keys
// within a kind, so that a page's end is enough to go on from. Secrets, also as hashes,
// are left out, and what only serves to find or to protect other rows.
//
// Pages are each of one time, and not all of the same: what is changed meanwhile is in
// the export as it was or as it became. Whoever wants all of one time suspends the
// tenant first.
//
// Bodies are not in the lines. A section's line has the digest and the length of its
// body, which is then read by itself, verified.
package export
