package claimsmodel

import "testing"

// Without one guard of the protocol, the search finds how a promise breaks. The
// shortest trace of each is in the verbose log.
func TestSearch_FindsEachFault(t *testing.T) {
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
			commitForgetsRevision, touchedMove(), history},
		{"finalize before release",
			clearBeforeRelease, thereAndBack(), noOrphan},
		{"claim of a prepared operation removed",
			knownIgnoresOperation, sameKeys(), backed},

		{"claim judged by an older reading of its owner's row",
			judgedByOldRow, sameKeys(), backed},
		{"removal of whatever claim stands",
			removeWhateverStands, thereAndBack(), backed},
		{"abort of a committed operation",
			abortForgetsPhase, thereAndBack(), backed},
		{"commit of an aborted operation",
			commitForgetsPhase, sameKeys(), backed},
		{"commit of another operation",
			commitForgetsToken, rivalMoves(), backed},
		{"commit before the claims are granted",
			commitForgetsGrants, sameKeys(), oneOwner},
		{"finalize of another operation",
			clearForgetsToken, rivalMoves(), noOrphan},
		{"prepare over an operation that is not finalized",
			prepareOverwrites, rivalMoves(), noOrphan},
		{"prepare that arrives twice under one token",
			prepareTwice, sameKeys(), backed},
		{"absence of the operation taken for failure",
			absenceMeansFailure, touchedMove(), honest},
		{"swap on another revision",
			swapForgetsRevision, touchedMove(), history},
		{"swap that writes the operation back",
			swapWritesOperation, touchedMove(), noOrphan},
		{"tombstone deleted before its deletion is finalized",
			buryBusy, rebirth(), noOrphan},
	} {
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
}

// Some guards are second lines: without all of them at once no promise breaks,
// since another guard holds. A suite that removes guards to see its tests fail
// must test each of these directly.
//
//   - A commit's deadline: an operation that was aborted is no longer prepared.
//     (It is the first line again if an abort releases before it marks.)
//   - The token in a lookup, and in asking whether a claim is known: a record that
//     holds a key always holds it under its claim's token, or the key's code has
//     expired.
//   - A committed operation's old links, in asking the same: what they protect is
//     to be released anyway.
func TestSearch_SparesGuardsThatOthersBack(t *testing.T) {
	const secondLines = commitForgetsDeadline | lookupIgnoresToken | knownIgnoresToken | knownForgetsOld
	for _, sc := range []scenario{sameKeys(), thereAndBack(), exchange(), sharedCode()} {
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
