package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// acting are all commands that change something: each with a state in which it may,
// one in which it may not, and what it asks the API for.
var acting = []struct {
	args           []string
	state, refused string
	route, body    string // under the migration; a body of "" for none
}{
	{[]string{"approve"}, "previewed", "active", "/approve", `{"hash":"` + aPlan + `"}`},
	{[]string{"activate"}, "approved", "previewed", "/activate", `{"plan_hash":"` + aPlan + `"}`},
	{[]string{"run"}, "active", "paused", "/run", `{"plan_hash":"` + aPlan + `"}`},
	{[]string{"pause"}, "active", "drained", "/pause", `{"plan_hash":"` + aPlan + `"}`},
	{[]string{"resume"}, "stopped", "drained", "/resume", `{"plan_hash":"` + aPlan + `"}`},
	{[]string{"abort"}, "requested", "active", "/abort", `{}`},
	{[]string{"caps", "--records", "2"}, "active", "drained", "/caps",
		`{"caps":{"bodies_in_flight":4,"bytes":8388608,"inspected_rows":64,"records":2},"plan_hash":"` + aPlan + `"}`},
	{[]string{"requalify"}, "paused", "active", "/requalify", `{"envelope_hash":"` + anotherOf + `"}`},
	{[]string{"scrub", "--bodies", "7"}, "drained", "requested", "/scrub", `{"budget":{"bodies":7},"plan_hash":"` + aPlan + `"}`},
	{[]string{"close", "--decision", "It's all there; the recheck passed."}, "verified", "drained", "/close",
		`{"decision":"It's all there; the recheck passed.","plan_hash":"` + aPlan + `"}`},
}

// scriptedActs answers whatever the acts read and do.
func scriptedActs(t *testing.T, state string) *scripted {
	t.Helper()
	s := newScripted(t)
	status := transitioned(inState(state), "approve", `{"purpose":"envelope","hash":"`+anotherOf+`"}`)
	status.Reports = []holdfast.MigrationReport{{ReportID: aReport, Kind: "baseline", PlanHash: aPlan, EndedAt: &someTime, Passed: new(true)}}
	s.on("GET "+thisMigration, status)
	s.on("GET "+thisMigration+"/plans/"+aPlan, aPlanOf(aPlan, "{}"))
	s.on("GET "+thisMigration+"/drift", holdfast.MigrationDrift{Drift: []holdfast.PlanDrift{}})
	s.on("GET "+thisMigration+"/envelopes/"+anotherOf, anEnvelope())
	for _, a := range acting {
		s.on("POST "+thisMigration+a.route, status.Migration)
	}
	s.on("POST "+thisMigration+"/activate", holdfast.MigrationActivation{Migration: status.Migration, Collections: []holdfast.AcceptedCollection{}, PointOfNoReturn: "That was it."})
	s.on("POST "+thisMigration+"/run", holdfast.MigrationRun{RunID: aRun})
	s.on("POST "+thisMigration+"/scrub", holdfast.MigrationReport{ReportID: aReport})
	return s
}

func anEnvelope() holdfast.MigrationEnvelope {
	return holdfast.MigrationEnvelope{EnvelopeHash: anotherOf, PreviousPlanHash: aPlan, NextPlanHash: anotherOf, CheckpointsHash: aPlan,
		Collections: []string{"orders"}, NextPlan: aPacket()}
}

func TestMigrationActs_WithoutExecuteSayWhatTheyWouldDo_AndTheLineTheyPrintDoesIt(t *testing.T) {
	t.Parallel()
	for _, a := range acting {
		t.Run(a.args[0], func(t *testing.T) {
			t.Parallel()
			s := scriptedActs(t, a.state)
			args := append([]string{"migration", a.args[0], aTenant, aMigration}, a.args[1:]...)
			got := execute(t, s.environ, args...)
			if got.code != exitOK || got.stderr != "" || !strings.Contains(got.stdout, "(record_bodies) of tenant "+aTenant+" is "+a.state+".") {
				t.Fatalf("it says %+v", got)
			}
			if all := s.wasAsked(); all != nil {
				t.Fatalf("without --execute the API was asked for %v", all)
			}
			_, line, found := strings.Cut(got.stdout, "Nothing was changed. To do it:\n  holdfast ")
			if !found {
				t.Fatalf("it says no line:\n%s", got.stdout)
			}
			if done := execute(t, s.environ, inShell(t, line)...); done.code != exitOK || done.stdout == "" {
				t.Errorf("%s: %+v", line, done)
			}
			if diff := cmp.Diff([]asked{{thisMigration + a.route, a.body}}, s.wasAsked()); diff != "" {
				t.Errorf("%s\nthe API was asked for (-want +got):\n%s", line, diff)
			}
		})
	}
}

// inShell are the words of a command line as a shell reads them.
func inShell(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+line).Output()
	must(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

func TestMigrationActs_WhereTheStateDoesntAllowIt_SaySo(t *testing.T) {
	t.Parallel()
	for _, a := range acting {
		s := scriptedActs(t, a.refused)
		args := append([]string{"migration", a.args[0], aTenant, aMigration}, a.args[1:]...)
		got := execute(t, s.environ, args...)
		if got.code != exitDiffers || !strings.Contains(got.stdout, "it would be refused: that is for a migration that is ") || s.wasAsked() != nil {
			t.Errorf("%s of one that is %s: %+v", a.args[0], a.refused, got)
		}
	}
}

func TestMigrationActs_WithExecute_NameWhatWasRead(t *testing.T) {
	t.Parallel()
	for command, flag := range map[string]string{"approve": "--hash", "activate": "--plan", "close --decision d": "--plan", "requalify": "--envelope"} {
		s := scriptedActs(t, "approved")
		words := strings.Fields(command)
		args := append([]string{"migration", words[0], aTenant, aMigration, "--execute"}, words[1:]...)
		got := refused(t, s.environ, exitUsage, args...)
		if !strings.Contains(got, "--execute takes "+flag+", the hash of what was read") || s.wasAsked() != nil {
			t.Errorf("%s: %s", command, got)
		}
	}
}

func TestMigrationActs_WithoutAPlan_AskForOne(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "requested")
	got := refused(t, s.environ, exitFailed, "migration", "pause", aTenant, aMigration, "--execute")
	if !strings.Contains(got, "no plan yet: holdfast migration preview") || s.wasAsked() != nil {
		t.Errorf("it says %s", got)
	}
}

// A command that takes --execute and isn't in any of these tests would be free to
// act without it.
func TestMigrationActs_AllAreTested(t *testing.T) {
	t.Parallel()
	tested := []string{"request", "rehydrate", "preview", "verify", "retry"} // each in a test of its own
	for _, a := range acting {
		tested = append(tested, a.args[0])
	}
	var acts []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Flags().Lookup("execute") != nil {
			acts = append(acts, c.Name())
		}
		for _, under := range c.Commands() {
			walk(under)
		}
	}
	walk(newMigration(&remote{}))
	slices.Sort(acts)
	slices.Sort(tested)
	if diff := cmp.Diff(tested, acts); diff != "" {
		t.Errorf("acts (-tested +there):\n%s", diff)
	}
}

func TestMigrationRequest_AndRehydrate_AskWithExecuteOnly(t *testing.T) {
	t.Parallel()
	for command, body := range map[string]string{
		"request": `{"kind":"record_bodies"}`,
		"rehydrate --collections orders,ledger:a": `{"collections":["orders","ledger:a"],"kind":"rehydrate"}`,
	} {
		s := newScripted(t)
		s.on("GET /v1/tenants/"+aTenant+"/migrations", holdfast.MigrationPage{Migrations: []holdfast.Migration{inState("closed").Migration, inState("active").Migration}})
		s.on("POST /v1/tenants/"+aTenant+"/migrations", inState("requested").Migration)
		words := strings.Fields(command)
		got := execute(t, s.environ, append([]string{"migration", words[0], aTenant}, words[1:]...)...)
		_, line, _ := strings.Cut(got.stdout, "To do it:\n  holdfast ")
		if got.code != exitOK || !strings.Contains(got.stdout, "Migrations of the tenant that aren't over: 1.") || s.wasAsked() != nil {
			t.Fatalf("%s: %+v", command, got)
		}
		if done := execute(t, s.environ, inShell(t, line)...); done.code != exitOK || !strings.Contains(done.stdout, "STATE         requested\n") {
			t.Errorf("%s: %+v", line, done)
		}
		if diff := cmp.Diff([]asked{{"/v1/tenants/" + aTenant + "/migrations", body}}, s.wasAsked()); diff != "" {
			t.Errorf("%s: the API was asked for (-want +got):\n%s", line, diff)
		}
	}
}

func TestMigrationActivate_SaysThePointOfNoReturnBeforeAndBehindIt(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "approved")
	args := []string{"migration", "activate", aTenant, aMigration, "--plan", aPlan}
	if got := execute(t, s.environ, args...); !strings.Contains(got.stdout, noReturn) || s.wasAsked() != nil {
		t.Errorf("without --execute it says %+v", got)
	}
	got := execute(t, s.environ, append(args, "--execute")...)
	if got.code != exitOK || !strings.Contains(got.stderr, noReturn) || !strings.HasSuffix(got.stdout, "\nThat was it.\n") {
		t.Errorf("with --execute it says %+v", got)
	}
	back := inState("approved")
	back.Migration.Kind = "rehydrate"
	s.on("GET "+thisMigration, back)
	if got := execute(t, s.environ, args...); !strings.Contains(got.stdout, noReturnBack) {
		t.Errorf("of a rehydration it says %+v", got)
	}
}

func TestMigrationApprove_ShowsThePlanAndItsDriftFirst(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "previewed")
	s.on("GET "+thisMigration+"/drift", holdfast.MigrationDrift{Drift: []holdfast.PlanDrift{{Field: "/build", Was: `"v2"`, Is: `"v3"`}}})
	drift := []holdfast.PlanDrift{{Field: "/build", Was: `"v2"`, Is: `"v3"`}}
	s.on("POST "+thisMigration+"/approve", problem{Status: 409, Code: "plan_drifted", Detail: "The plan has drifted.", Request: "r-1", State: "previewed", Drift: &drift,
		Collection: "orders", Key: "o-1", Section: "items"})
	got := execute(t, s.environ, "migration", "approve", aTenant, aMigration, "--hash", aPlan, "--execute")
	for _, want := range []string{"\nBUILD            v2\n", "bucket bodies, prefix \"tenants/\"", "BAD ROWS  1 of another length", "about 50.0 %",
		"1m0s to 2h0m0s", "64.0 KiB      50", "  /build: \"v2\" in the plan, \"v3\" now\n", "To be approved: this plan"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("it doesn't show %q", want)
		}
	}
	if t.Failed() {
		t.Log(got.stderr)
	}
	refusal := "holdfast: The plan has drifted. (plan_drifted, request r-1)\n  collection \"orders\", record \"o-1\", section \"items\"\n  the migration is previewed\n  /build: \"v2\" in the plan, \"v3\" now\n"
	if got.code != exitDiffers || got.stdout != "" || !strings.HasSuffix(got.stderr, refusal) {
		t.Errorf("the refusal: %+v", got)
	}
}

func TestMigrationApprove_OfAStopOrAnEnvelope_ShowsThat(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "stopped")
	got := execute(t, s.environ, "migration", "approve", aTenant, aMigration)
	stop := `It stopped for a review: A section isn't what its row says. (source_defect) collection "orders", record "o-1", section "items"` +
		"\nNext step: List the deferred sections.\nTo be approved: that it goes on, as active.\n"
	if got.code != exitOK || !strings.Contains(got.stdout, stop) {
		t.Errorf("of a stop it says %+v", got)
	}
	got = execute(t, s.environ, "migration", "approve", aTenant, aMigration, "--hash", anotherOf)
	if got.code != exitOK || !strings.Contains(got.stdout, "ENVELOPE       "+anotherOf) || !strings.Contains(got.stdout, "carried over to that build") {
		t.Errorf("of an envelope it says %+v", got)
	}
}
