// Package objectstore keeps bodies in a bucket of R2, S3 or anything that speaks
// S3, and proves what it stored and what it read.
//
// Objects are immutable. A write is a create-only PUT with the body's SHA-256 as
// its integrity check, followed by a GET of the whole that is compared byte by
// byte: a key, a size, an ETag or a listing proves nothing. Whatever the PUT
// said (that it made the object, that it was there, or nothing at all because
// the answer was lost), that GET decides.
//
// A read is whole and verified before its first byte is given away.
//
// Each request waits for its turn under one limiter a bucket, which lets fewer
// through when the store says that it has too much. What may pass by itself (409,
// 429, 5xx, a lost connection, an answer that is too short) is tried again with
// growing pauses, a bounded number of times, for no longer than the context
// lasts. Wrong bytes at the right key are neither tried again nor overwritten.
//
// Only what R2 knows is used: no ACL, tag, version or lock, and SHA-256 as the
// only checksum, in a header.
package objectstore
