package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// rehearsed runs an act without --execute, and has asked for nothing.
func rehearsed(t *testing.T, s *scripted, args ...string) result {
	t.Helper()
	got := execute(t, s.environ, append([]string{"migration", args[0], aTenant, aMigration}, args[1:]...)...)
	if all := s.wasAsked(); all != nil {
		t.Fatalf("%v: without --execute the API was asked for %v", args, all)
	}
	return got
}

func TestMigrationActs_RefusedByTheState_HaveTheExitCodeOfTheRehearsal(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"migration_state": exitDiffers, "plan_drifted": exitDiffers, "baseline_missing": exitDiffers, "run_under_way": exitFailed} {
		s := scriptedActs(t, "paused")
		s.on("POST "+thisMigration+"/run", problem{Status: 409, Code: code, Detail: "No.", Request: "r"})
		got := refused(t, s.environ, want, "migration", "run", aTenant, aMigration, "--execute")
		if got != "holdfast: No. ("+code+", request r)\n" {
			t.Errorf("%s: %s", code, got)
		}
	}
}

func TestMigrationActs_OfASupersededPlan_SaySo(t *testing.T) {
	t.Parallel()
	for command, state := range map[string]string{"activate": "approved", "close --decision d": "verified", "pause": "active", "scrub": "drained", "approve": "previewed"} {
		s := scriptedActs(t, state)
		s.on("GET "+thisMigration+"/envelopes/"+anotherOf, problem{Status: 404, Code: "envelope_not_found", Detail: "No.", Request: "r"})
		flag := "--plan"
		if command == "approve" {
			flag = "--hash"
		}
		got := rehearsed(t, s, append(strings.Fields(command), flag, anotherOf)...)
		if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "(plan_hash_differs)") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestMigrationActs_OfADriftedPlan_ShowWhatDiffers(t *testing.T) {
	t.Parallel()
	const differs = "\n  /build: \"v2\" in the plan, \"v3\" now\n"
	for _, c := range []struct{ command, state, says string }{
		{"approve", "previewed", "But it would be refused: its plan has drifted."},
		{"approve", "stopped", "But it would be refused: its plan has drifted."},
		{"activate", "approved", "But it would be refused: its plan has drifted."},
		{"activate", "activating", "But it would be refused: its plan has drifted."},
		{"run", "active", "But it would be refused: its plan has drifted."},
		{"resume", "paused", "Its plan has drifted, and a run of it would be refused."},
	} {
		s := scriptedActs(t, c.state)
		s.on("GET "+thisMigration+"/drift", holdfast.MigrationDrift{Drift: []holdfast.PlanDrift{{Field: "/build", Was: `"v2"`, Is: `"v3"`}}})
		if got := rehearsed(t, s, c.command); got.code != exitDiffers || !strings.Contains(got.stdout, c.says+differs) {
			t.Errorf("%s of one that is %s: %+v", c.command, c.state, got)
		}
	}
}

func TestMigrationActs_OtherLifecycleRules_CountBeforeThePointOfNoReturnOnly(t *testing.T) {
	t.Parallel()
	for state, code := range map[string]int{"previewed": exitDiffers, "stopped": exitOK} {
		s := scriptedActs(t, state)
		s.on("GET "+thisMigration+"/drift", holdfast.MigrationDrift{Drift: []holdfast.PlanDrift{{Field: "/lifecycle_hash", Was: `"a"`, Is: `"b"`}}})
		if got := rehearsed(t, s, "approve"); got.code != code || !strings.Contains(got.stdout, "It has drifted:\n  /lifecycle_hash: ") {
			t.Errorf("approve of one that is %s: %+v", state, got)
		}
	}
}

func TestMigrationActivate_WithoutABaseline_SaysHowToReadOne(t *testing.T) {
	t.Parallel()
	baseline := func(change func(*holdfast.MigrationReport)) []holdfast.MigrationReport {
		r := holdfast.MigrationReport{ReportID: aReport, Kind: "baseline", PlanHash: aPlan, EndedAt: &someTime, Passed: new(true)}
		change(&r)
		return []holdfast.MigrationReport{r}
	}
	for name, c := range map[string]struct {
		state   string
		reports []holdfast.MigrationReport
		code    int
	}{
		"none":              {"approved", []holdfast.MigrationReport{}, exitDiffers},
		"it goes on":        {"approved", baseline(func(r *holdfast.MigrationReport) { r.Passed = nil }), exitDiffers},
		"it failed":         {"approved", baseline(func(r *holdfast.MigrationReport) { r.Passed = new(false) }), exitDiffers},
		"of a scrub":        {"approved", baseline(func(r *holdfast.MigrationReport) { r.Kind = "scrub" }), exitDiffers},
		"of another plan":   {"approved", baseline(func(r *holdfast.MigrationReport) { r.PlanHash = aRun }), exitDiffers},
		"of a former plan":  {"approved", baseline(func(r *holdfast.MigrationReport) { r.PlanHash = anotherOf }), exitOK},
		"passed":            {"approved", baseline(func(*holdfast.MigrationReport) {}), exitOK},
		"it is asked again": {"activating", []holdfast.MigrationReport{}, exitOK},
	} {
		s := scriptedActs(t, c.state)
		status := inState(c.state)
		status.Reports, status.Migration.FormerPlanHashes = c.reports, []string{anotherOf}
		s.on("GET "+thisMigration, status)
		got := rehearsed(t, s, "activate")
		first := strings.Contains(got.stdout, "no baseline of this plan has passed. First:\n  holdfast migration verify "+aTenant+" "+aMigration+" --phase baseline --execute\n")
		if got.code != c.code || first != (c.code == exitDiffers) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestMigrationApprove_OfAPlanThatIsPaused_IsNotForItsState(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "paused")
	got := rehearsed(t, s, "approve", "--hash", aPlan)
	if got.code != exitDiffers || !strings.Contains(got.stdout, "refused: that is for a migration that is previewed or stopped.\n") || strings.Contains(got.stdout, "drifted") {
		t.Errorf("of the plan: %+v", got)
	}
	if got := rehearsed(t, s, "approve", "--hash", anotherOf); got.code != exitOK {
		t.Errorf("of an envelope: %+v", got)
	}
}

func TestMigrationClose_SaysWhatItIsAbout(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "drained")
	if got := rehearsed(t, s, "close", "--decision", "d"); got.code != exitDiffers || strings.Contains(got.stdout, "From then on") {
		t.Errorf("without collections: %+v", got)
	}
	status := inState("verified")
	status.Progress.Collections = []holdfast.MigrationCollection{{Collection: "orders"}}
	s.on("GET "+thisMigration, status)
	if got := rehearsed(t, s, "close", "--decision", "d"); got.code != exitOK || !strings.Contains(got.stdout, "those of 1 collection (orders).\n") {
		t.Errorf("of one collection: %+v", got)
	}
	if got := rehearsed(t, s, "close", "--decision", " "); got.code != exitUsage || !strings.Contains(got.stderr, "--decision takes why it may be closed") {
		t.Errorf("without a decision: %+v", got)
	}
	closed := transitioned(inState("closed"), "close", `{"decision":"It's all there."}`)
	s.on("GET "+thisMigration, closed)
	const before = "It was closed already, by ada at 2026-11-30T12:00:00Z, by the decision \"It's all there.\". That stands, and no other is kept.\n"
	if got := rehearsed(t, s, "close", "--decision", "Another."); !strings.Contains(got.stdout, before) || strings.Contains(got.stdout, "Another.\".") {
		t.Errorf("once more: %+v", got)
	}
	got := execute(t, s.environ, "migration", "close", aTenant, aMigration, "--decision", "Another.", "--plan", aPlan, "--execute")
	if got.code != exitOK || !strings.HasSuffix(got.stdout, before) {
		t.Errorf("once more, with --execute: %+v", got)
	}
}

func TestMigrationActs_TheLineThatDoesIt_QuotesWhatIsEmpty(t *testing.T) {
	t.Parallel()
	var line string
	command := &cobra.Command{Use: "x", RunE: func(command *cobra.Command, _ []string) error {
		line = executing(command, "")
		return nil
	}}
	command.Flags().String("text", "unset", "")
	command.Flags().Bool("yes", false, "")
	command.SetArgs([]string{"--text", "", "--yes"})
	must(t, command.Execute())
	if line != "x --text '' --yes --execute" {
		t.Errorf("it is %s", line)
	}
}

func TestMigrationDrift_WithoutAPlan_SaysSo(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET "+thisMigration+"/drift", problem{Status: 404, Code: "plan_not_found", Detail: "The migration has no plan of this hash.", Request: "r"})
	if got := refused(t, s.environ, exitFailed, "migration", "drift", aTenant, aMigration); got != "holdfast: "+standingPlan.missing+"\n" {
		t.Errorf("it says %s", got)
	}
}

func TestMigrationShow_BeforeTheActivation_ClaimsNoCounts(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET "+thisMigration, inState("approved"))
	if got := execute(t, s.environ, "migration", "show", aTenant, aMigration); !strings.Contains(got.stdout, "\nMOVED             nothing: it isn't activated, ") {
		t.Errorf("show: %+v", got)
	}
	if got := rehearsed(t, s, "run"); got.code != exitDiffers || !strings.Contains(got.stdout, "nothing is known of what is left before the activation") {
		t.Errorf("run: %+v", got)
	}
}

func TestMigrationShow_PointsAtTheDriftOfAnotherBuild(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	stopped := inState("stopped")
	stopped.Migration.Stop.Category = "build_differs"
	s.on("GET "+thisMigration, stopped)
	want := "List the deferred sections. (holdfast migration drift " + aTenant + " " + aMigration + ")\n"
	if got := execute(t, s.environ, "migration", "show", aTenant, aMigration); !strings.Contains(got.stdout, want) {
		t.Errorf("it says %+v", got)
	}
}

func TestMigrationReports_ThatDidntSeeAll_HaventFailed(t *testing.T) {
	t.Parallel()
	spent := &holdfast.ScrubProgress{Spent: new("bodies")}
	for name, c := range map[string]struct {
		report holdfast.MigrationReport
		want   string
	}{
		"a scrub that goes on":      {holdfast.MigrationReport{Scrub: spent}, "-"},
		"a budget that was spent":   {holdfast.MigrationReport{Scrub: spent, EndedAt: &someTime, Passed: new(false)}, "not through"},
		"a corrupt body before":     {holdfast.MigrationReport{Scrub: &holdfast.ScrubProgress{Corrupt: 1}, EndedAt: &someTime, Passed: new(false)}, "no"},
		"all, and sound":            {holdfast.MigrationReport{Scrub: &holdfast.ScrubProgress{Covered: true}, EndedAt: &someTime, Passed: new(true)}, "yes"},
		"a recheck that failed":     {holdfast.MigrationReport{Verdict: &holdfast.VerificationVerdict{Outcome: "failed"}, Passed: new(false)}, "no"},
		"a recheck that was cut":    {holdfast.MigrationReport{Verdict: &holdfast.VerificationVerdict{Outcome: "incomplete"}, Passed: new(false)}, "not through"},
		"a baseline without an end": {holdfast.MigrationReport{Kind: "baseline"}, "-"},
	} {
		if got := passedOf(c.report); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestMigrationRequest_InJSON_HasNoStateOfWhatIsntThere(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET /v1/tenants/"+aTenant+"/migrations", holdfast.MigrationPage{Migrations: []holdfast.Migration{}})
	got := execute(t, s.environ, "migration", "request", aTenant, "--json")
	var told map[string]any
	must(t, json.Unmarshal([]byte(got.stdout), &told))
	if _, has := told["state"]; has || told["allowed"] != true {
		t.Errorf("it says %s", got.stdout)
	}
}
