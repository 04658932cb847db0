//go:build mutate

package migration

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// TestMutants removes each guard in turn and sees a test fail that passes with it.
// It takes a while: run make mutate.
func TestMutants(t *testing.T) {
	testkit.RunMutants(t, "../../..", "internal/domain/migration", mutants)
}

// in is one edit of a file of this package.
func in(file, old, new string) testkit.Edit {
	return testkit.Edit{File: "internal/domain/migration/" + file, Old: old, New: new}
}

// Most guards of a pass stand twice: in Go on what was read under the locks, and in
// the statement that writes.
var mutants = []testkit.Mutant{
	{Guard: "the checkpoint's fence", Tests: "TestRun_APassThatOutlivesItsJob", Edits: []testkit.Edit{
		in("pass.go", "case stands.token != m.at.token, ", "case "),
		in("checkpoint.go", "AND m.token = $20 AND", "AND $20::uuid IS NOT NULL AND"),
	}},
	{Guard: "the plan and the build of a pass", Tests: "TestRequalify_APass", Edits: []testkit.Edit{
		in("pass.go", "case stands.token != m.at.token, stands.PlanHash != m.at.PlanHash, stands.Build != m.build, ", "case "),
		in("checkpoint.go", "AND m.token = $20 AND m.plan_hash = $21 AND m.build = $22", "AND $20::uuid IS NOT NULL AND $21::bytea IS NOT NULL AND $22::text IS NOT NULL"),
	}},
	{Guard: "the comparison with what was captured", Tests: "TestPass_ARecord", Edits: []testkit.Edit{
		{File: "internal/domain/record/reread.go", Old: "is != nil && was.same(is)", New: "is != nil"},
	}},
	{Guard: "the format of the collection", Tests: "TestPass_AnotherFormat", Edits: []testkit.Edit{
		in("pass.go", ", reread.Format() != m.at.Kind.direction().to:", ":"),
	}},
	{Guard: "the whole read behind the upload", Tests: "TestRun_WrongBytes", Edits: []testkit.Edit{
		{File: "internal/objectstore/ensure.go", Old: "// it may be there\n\t\t\tif err := b.verify(ctx, key, body); !isMissing(err) {", New: "\n\t\t\tif err := error(nil); !isMissing(err) {"},
	}},
	{Guard: "the hold of a pause", Tests: "TestPass_APause", Edits: []testkit.Edit{
		in("pass.go", "case stands.Held:", "case false:"),
		in("checkpoint.go", " AND NOT m.held AND m.closed_at IS NULL`", "`"),
	}},
	{Guard: "the look at what is left", Tests: "TestRun_ARowBehind", Edits: []testkit.Edit{
		in("walk.go", "case !left:", "case true:"),
	}},
	{Guard: "the sound body, before it is moved", Tests: "TestWalk_DefersWhatIsNot", Edits: []testkit.Edit{
		{File: "internal/domain/record/defect.go", Old: "case inSQL && DigestOf(s.Body) != s.Digest:", New: "case false:"},
	}},
	{Guard: "one plan for a collection", Tests: "TestActivate_TwoPlans", Edits: []testkit.Edit{
		in("accept.go", "case !stands.Migration.IsZero() && stands.ClosedAt.IsZero():", "case false:"),
		in("accept.go", " WHERE m.closed_at IS NOT NULL`", "`"),
	}},
	{Guard: "the end of a run, behind an error", Tests: "TestRequalify_APass", Edits: []testkit.Edit{
		in("workend.go", "== nil && !w.run.EndedAt.IsZero():", "== nil && false:"),
	}},
	{Guard: "the tries before a shift", Tests: "TestRun_AShiftThatFindsALock", Edits: []testkit.Edit{
		in("work.go", "if !passing(err) || tries == maxRetries || ctx.Err() != nil {", "if true {"),
	}},
	{Guard: "the bucket's rules at a shift", Tests: "TestARuleThatAppears", Edits: []testkit.Edit{
		{File: "internal/domain/record/lifecycle.go", Old: "if rule.Endangers(allBodies) {", New: "if false {"},
	}},
	{Guard: "the approval of a resumption", Tests: "TestRun_StopsForAReview", Edits: []testkit.Edit{
		in("pause.go", "if err := useApprovalTx(ctx, tx, &m, ofResume, m.PlanHash); err != nil {", "if false {"),
	}},
}
