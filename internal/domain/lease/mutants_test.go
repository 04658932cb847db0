//go:build mutate

package lease

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestMutants removes each guard in turn and sees a test fail that passes with it.
// It takes a while: run make mutate.
func TestMutants(t *testing.T) {
	var all []testkit.Mutant
	for _, m := range mutants {
		all = append(all, testkit.Mutant{Guard: m.guard, Edits: []testkit.Edit{{File: m.file, Old: m.old, New: m.new}}, Tests: m.tests})
	}
	testkit.RunMutants(t, "../../..", "internal/domain/lease", all)
}

var mutants = []struct {
	guard    string // what it lacks
	file     string // within the module
	old, new string // a text that is there once, and what stands there instead
	tests    string // some of which must fail; a pattern for go test
}{
	{"the epoch of a lease", "internal/domain/lease/fence.go",
		"case a.Epoch != w.Epoch, caller", "case caller", "TestEveryCallWithAnythingButTheLeaseInForce"},
	{"the principal of a lease", "internal/domain/lease/fence.go",
		"caller != w.Holder, ", "", "TestEveryCallWithAnythingButTheLeaseInForce"},
	{"the secret of a lease", "internal/domain/lease/fence.go",
		", !w.opens(a.Secret)", "", "TestEveryCallWithAnythingButTheLeaseInForce"},
	{"that the coordinator holds while clients write through it", "internal/domain/lease/fence.go",
		"if w.Holder.IsCoordinator() && a == nil {", "if a == nil {", "TestAHostedWriteWhileANodeHolds"},
	{"the activation of a lease", "internal/domain/lease/fence.go",
		"if !w.Activated {", "if false {", "TestBeforeItsActivation"},
	{"the replay through the handoff", "internal/domain/lease/activate.go",
		"if replayed != w.GrantedPosition || hash != w.grantedHash {", "if false {", "TestBeforeItsActivation"},
	{"the end of a lease", "internal/domain/lease/locked.go",
		"if w.over() {", "if false {", "TestALeaseWhoseTimeIsOver"},
	{"the renewal that a revocation was decided from", "internal/domain/lease/revoke.go",
		" || w.RenewedPosition != req.RenewedPosition", "", "TestARevocation"},
	{"that times never decrease", "internal/domain/lease/flush.go",
		"later(now.UTC(), w.LastAt)", "now.UTC()", "TestTheClockStepsBack"},
	{"the evidence of a refused append", "internal/domain/lease/append.go",
		"w.reject(caller, a)", "", "TestAFencedClientInALoop|TestAHolderStoppedPastItsTerm"},
	{"the look for entry ids that are known", "internal/domain/lease/known.go",
		"if len(ids) == 0 {", "if true {", "TestTheSameEntryID_IsOneEntry"},
	{"the key that has each entry id once", "db/migrations/data/00008_worlds.sql",
		"PRIMARY KEY (tenant_id, number, world_id, entry_id)", "PRIMARY KEY (tenant_id, number, world_id, entry_id, position)", "TestTheJournal_HasRoomForAnEntryIDOnce"},
}
