package claimsmodel

// fault takes a guard out of a decision. The zero set is the protocol.
type fault uint32

const (
	// releaseByOwner deletes a claim of the right owner under any token.
	releaseByOwner fault = 1 << iota
	// removeWhateverStands deletes the claim that stands on a key once some
	// claim on that key was judged unknown.
	removeWhateverStands
	// claimByOwner counts any claim of the same owner as the operation's own.
	claimByOwner
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
	// abortReleasesFirst releases an overdue operation's claims before it marks
	// the operation aborted.
	abortReleasesFirst
	// abortForgetsPhase aborts an operation that has committed.
	abortForgetsPhase
	// commitForgetsDeadline commits an overdue operation.
	commitForgetsDeadline
	// commitForgetsPhase commits an operation that was aborted.
	commitForgetsPhase
	// commitForgetsToken commits whatever operation is prepared on the row.
	commitForgetsToken
	// commitForgetsRevision commits on another revision than it was prepared from.
	commitForgetsRevision
	// commitForgetsGrants commits before all claims were granted.
	commitForgetsGrants
	// clearBeforeRelease clears a decided operation while its claims stand.
	clearBeforeRelease
	// clearForgetsToken clears whatever operation is on the row.
	clearForgetsToken
	// prepareOverwrites prepares over a decided operation that was not cleared.
	prepareOverwrites
	// prepareTwice lets a prepare arrive again: its token returns to the row.
	prepareTwice
	// absenceMeansFailure tells failure to a caller that asks after a commit
	// without an answer and doesn't find its operation.
	absenceMeansFailure
	// swapForgetsRevision writes a key-preserving update over any revision.
	swapForgetsRevision
	// swapWritesOperation writes the whole row back as it was read, with the
	// operation.
	swapWritesOperation
	// buryBusy deletes a tombstone whose deletion has not been finalized.
	buryBusy
)
