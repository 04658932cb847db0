package claimsmodel

// fault takes a guard out of a decision. The zero set is the protocol.
type fault uint64

const (
	// releaseByOwner deletes a claim of the right owner under any token.
	releaseByOwner fault = 1 << iota
	// releaseByKey deletes whatever claim stands on the key.
	releaseByKey
	// claimByOwner counts any claim of the same owner as the operation's own.
	claimByOwner
	// claimUnsynced lets a claim be lost in a crash before its commit.
	claimUnsynced
	// lookupTrustsClaim answers a claim's owner without asking its record for
	// more than being live.
	lookupTrustsClaim
	// lookupIgnoresToken asks the record for the key and not for the token.
	lookupIgnoresToken
	// knownByOwner takes every claim of an existing owner for known.
	knownByOwner
	// knownIgnoresToken takes a claim for known if its owner lists the key under
	// any token.
	knownIgnoresToken
	// knownIgnoresOperation asks only the committed record whether it knows a
	// claim, so that a prepared operation's claims count as unknown.
	knownIgnoresOperation
	// knownForgetsOld doesn't ask a committed operation for its old links.
	knownForgetsOld
	// judgedByOldRow judges a claim by a reading of its owner's row that may be
	// older than the claim.
	judgedByOldRow
	// readsRecordFirst reads an owner's record before its operation.
	readsRecordFirst
	// standsBeyondExpiry lets a record stand by its code when that has expired.
	standsBeyondExpiry
	// replacesUnexpired takes the claim of a code for obsolete before its expiry.
	replacesUnexpired
	// abortReleasesFirst releases an overdue operation's claims before it marks
	// the operation aborted.
	abortReleasesFirst
	// abortForgetsPhase aborts an operation that has committed.
	abortForgetsPhase
	// abortUnsynced lets an abort be lost in a crash, when claims were released.
	abortUnsynced
	// commitForgetsDeadline commits an overdue operation.
	commitForgetsDeadline
	// commitForgetsPhase commits an operation that was aborted.
	commitForgetsPhase
	// commitForgetsToken commits whatever operation is prepared on the row.
	commitForgetsToken
	// commitForgetsRevision commits on another revision than it was prepared from.
	commitForgetsRevision
	// commitForgetsLife commits a change of a tombstone.
	commitForgetsLife
	// commitForgetsPending commits a change that was replaced or cancelled.
	commitForgetsPending
	// commitForgetsGrants commits before all claims were granted.
	commitForgetsGrants
	// clearBeforeRelease clears a decided operation while its claims stand.
	clearBeforeRelease
	// clearForgetsToken clears whatever operation is on the row.
	clearForgetsToken
	// takeBackForgetsToken takes back whatever operation is prepared on the row.
	takeBackForgetsToken
	// prepareOverwrites prepares over a decided operation that was not cleared.
	prepareOverwrites
	// replacesPrepared puts an operation in the place of another change's.
	replacesPrepared
	// prepareTwice lets a prepare arrive again: its token returns to the row.
	prepareTwice
	// vainGoesOn claims for a creation of what exists.
	vainGoesOn
	// darkMeansFailure tells failure to a caller whose answer was lost.
	darkMeansFailure
	// withdrawsInTheDark calls a change off that may have been committed.
	withdrawsInTheDark
	// reportsWhatItFinds tells failure to a caller that heard of its success, and
	// then finds neither its operation nor its keys.
	reportsWhatItFinds
	// swapForgetsRevision writes a key-preserving update over any revision.
	swapForgetsRevision
	// swapWritesOperation writes the whole row back as it was read, with the
	// operation.
	swapWritesOperation
	// buriesOperation deletes a tombstone with the operation on its row.
	buriesOperation
	// discardReleasesFirst releases a record's claims before it is deleted.
	discardReleasesFirst

	everyFault fault = 1<<iota - 1
)

// secondLines are guards that others back, all at once.
const secondLines = commitForgetsDeadline | commitForgetsLife | lookupIgnoresToken | knownIgnoresToken | knownForgetsOld
