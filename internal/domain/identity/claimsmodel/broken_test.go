package claimsmodel

import "testing"

// Without one guard of the protocol, the search finds how a promise breaks. The
// shortest trace of each is in the verbose log.
func TestSearch_FindsEachFault(t *testing.T) {
	covered := secondLines
	for _, tt := range []struct {
		name   string
		faults fault
		in     scenario
		breaks rule
	}{
		{"release by owner only",
			releaseByOwner, thereAndBack(), backed},
		{"abort that releases before it marks, commit without deadline",
			abortReleasesFirst | commitForgetsDeadline, sameKeys(), backed},
		{"abort that releases before it marks",
			abortReleasesFirst, sameKeys(), noOrphan},
		{"claim granted to its owner under another token",
			claimByOwner, thereAndBack(), backed},
		{"claim known by owner only",
			knownByOwner, deletion(), recovers},
		{"lookup that trusts the claim",
			lookupTrustsClaim, thereAndBack(), oneOwner},
		{"commit on another revision",
			commitForgetsRevision, touchedChange(), history},
		{"finalize before release",
			clearBeforeRelease, thereAndBack(), noOrphan},
		{"claim of a prepared operation removed",
			knownIgnoresOperation, sameKeys(), backed},

		{"claim judged by an older reading of its owner's row",
			judgedByOldRow, sameKeys(), backed},
		{"abort of a committed operation",
			abortForgetsPhase, thereAndBack(), backed},
		{"commit of an aborted operation",
			commitForgetsPhase, sameKeys(), backed},
		{"commit of another operation",
			commitForgetsToken, rivalChanges(), backed},
		{"commit before the claims are granted",
			commitForgetsGrants, sameKeys(), oneOwner},
		{"finalize of another operation",
			clearForgetsToken, rivalChanges(), noOrphan},
		{"prepare over an operation that is not finalized",
			prepareOverwrites, rivalChanges(), noOrphan},
		{"prepare that arrives twice under one token",
			prepareTwice, sameKeys(), backed},
		{"lost answer taken for failure",
			darkMeansFailure, touchedChange(), honest},
		{"swap on another revision",
			swapForgetsRevision, touchedChange(), history},
		{"swap that writes the operation back",
			swapWritesOperation, touchedChange(), noOrphan},
		{"tombstone deleted with its operation",
			buriesOperation, rebirth(), noOrphan},
		{"claims released before their record is deleted",
			discardReleasesFirst, sharedCode(), backed},

		{"release of whatever claim stands",
			releaseByKey, sharedCode(), backed},
		{"removal of a code's claim before its expiry",
			replacesUnexpired, sharedCode(), backed},
		{"record that stands by an expired code",
			standsBeyondExpiry, sharedCode(), oneOwner},
		{"owner's record read before its operation",
			readsRecordFirst, exchange(), backed},
		{"claim lost in a crash before its commit",
			claimUnsynced, sameKeys(), backed},
		{"abort lost in a crash after its releases",
			abortUnsynced, sameKeys(), forGood},
		{"abort lost in a crash after its releases, commit without deadline",
			abortUnsynced | commitForgetsDeadline, sameKeys(), backed},
		{"commit of a change that was cancelled",
			commitForgetsPending, oneChangeTwice(), inForce},
		{"commit of a stale change",
			commitForgetsRevision, touchedChange(), inForce},
		{"prepare or removal over another change's operation",
			replacesPrepared, rivalChanges(), noOrphan},
		{"creation of what exists that goes on to claim",
			vainGoesOn, repeatedCreation(), noOrphan},
		{"taking back of another operation",
			takeBackForgetsToken, repeatedCreation(), noOrphan},
		{"change called off that may have been committed",
			withdrawsInTheDark, sameKeys(), backed},
		{"success judged by what is left of it",
			reportsWhatItFinds, rivalChanges(), honest},
	} {
		covered |= tt.faults
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &model{scenario: tt.in, faults: tt.faults}
			f := m.search(tt.breaks)
			if f.broken == nil {
				t.Fatalf("not found in %d states", f.states)
			}
			t.Logf("%s: %s", tt.in.name, m.explain(f.broken))
		})
	}
	if covered != everyFault {
		t.Errorf("no test takes out these guards: %b", everyFault&^covered)
	}
}

// Some guards are second lines: without all of them at once no promise breaks,
// since another guard holds. A suite that removes guards to see its tests fail
// must test each of these directly.
//
//   - A commit's deadline: an operation that was aborted is no longer prepared.
//     (It is the first line again if an abort releases before it marks.)
//   - That a commit finds a live record: a deletion leaves another revision.
//   - The token in a lookup, and in asking whether a claim is known: a record that
//     holds a key always holds it under its claim's token, or the key's code has
//     expired.
//   - A committed operation's old links, in asking the same: what they protect is
//     to be released anyway.
//
// The owner in a release is one of them too, and not in the model: tokens are
// drawn at random, so the token alone names the owner.
func TestSearch_SparesGuardsThatOthersBack(t *testing.T) {
	for _, sc := range []scenario{sameKeys(), thereAndBack(), exchange(), firstAddress(), sharedCode()} {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			m := &model{scenario: sc, faults: secondLines}
			switch f := m.search(""); {
			case f.broken != nil:
				t.Error(m.explain(f.broken))
			case !f.exhausted:
				t.Errorf("not exhausted after %d states", f.states)
			}
		})
	}
}
