package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestRequalify_TakesTheEnvelopeThatWasApprovedForTheState(t *testing.T) {
	t.Parallel()
	approved := `{"purpose":"envelope","hash":"` + anotherOf + `"}`
	paused := inState("paused")
	moved := transitioned(transitioned(paused, "approve", approved), "resume", "{}")
	moved.Transitions[1].FromState = new("active")
	interrupted := inState("paused")
	interrupted.Migration.EnvelopeHash = &aPlan
	for name, c := range map[string]struct {
		status holdfast.TenantMigrationStatus
		want   string
	}{
		"none":                       {paused, ""},
		"approved":                   {transitioned(paused, "approve", approved), anotherOf},
		"approved, and caps lowered": {transitioned(transitioned(paused, "approve", approved), "caps", `{"was":{},"is":{}}`), anotherOf},
		"approved to go on":          {transitioned(paused, "approve", `{"purpose":"resume","hash":"`+aPlan+`"}`), ""},
		"for another state":          {moved, ""},
		"used up":                    {transitioned(transitioned(paused, "approve", approved), "requalified", "{}"), ""},
		"interrupted":                {interrupted, aPlan},
	} {
		if got := envelopeToApply(c.status); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRequalifyPreview_NamesThePlanThatStands_AndIsFreeOfEffect(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET "+thisMigration, inState("paused"))
	s.on("POST "+thisMigration+"/requalify-preview", anEnvelope())
	got := execute(t, s.environ, "migration", "requalify-preview", aTenant, aMigration, "--qualification", anotherOf)
	if got.code != exitOK || !strings.HasPrefix(got.stdout, "ENVELOPE       "+anotherOf+"\n") {
		t.Errorf("it says %+v", got)
	}
	want := []asked{{thisMigration + "/requalify-preview", `{"plan_hash":"` + aPlan + `","qualification":"` + anotherOf + `"}`}}
	if diff := cmp.Diff(want, s.wasAsked()); diff != "" {
		t.Errorf("the API was asked for (-want +got):\n%s", diff)
	}
}

const second = "01930000-0000-7000-8000-0000000000b2"

// twoHeld are a tenant with a migration whose envelope is approved, one that has none,
// and one that isn't held; and a tenant with nothing.
func twoHeld(t *testing.T) *scripted {
	t.Helper()
	s := newScripted(t)
	ready := transitioned(inState("paused"), "approve", `{"purpose":"envelope","hash":"`+anotherOf+`"}`)
	bare := inState("stopped")
	bare.Migration.MigrationID = second
	waits := inState("drained") // for its recheck, and by this build: it is left out
	waits.Migration.MigrationID = aRun
	s.on("GET /v1/tenants/"+aTenant+"/migrations",
		holdfast.MigrationPage{Migrations: []holdfast.Migration{ready.Migration, bare.Migration, inState("active").Migration, waits.Migration}})
	s.on("GET /v1/tenants/"+aTenant+"/migrations/"+aRun, waits)
	s.on("GET /v1/tenants/"+aRun+"/migrations", holdfast.MigrationPage{Migrations: []holdfast.Migration{}})
	s.on("GET "+thisMigration, ready)
	s.on("GET /v1/tenants/"+aTenant+"/migrations/"+second, bare)
	s.on("POST "+thisMigration+"/requalify", ready.Migration)
	return s
}

func TestRequalifyAll_GoesOnPastWhatIsRefused(t *testing.T) {
	t.Parallel()
	s := twoHeld(t)
	for _, c := range []struct {
		args []string
		code int
		want []requalification
		ask  []asked
	}{
		{nil, exitDiffers, []requalification{
			{Tenant: aTenant, Name: "acme", Migration: aMigration, State: "paused", Envelope: anotherOf, Outcome: "would be carried over"},
			{Tenant: aTenant, Name: "acme", Migration: second, State: "stopped", Outcome: "no envelope is approved for it"},
		}, nil},
		{[]string{"--execute"}, exitFailed, []requalification{
			{Tenant: aTenant, Name: "acme", Migration: aMigration, State: "paused", Envelope: anotherOf, Done: true, Outcome: "carried over to plan " + aPlan},
			{Tenant: aTenant, Name: "acme", Migration: second, State: "stopped", Outcome: "no envelope is approved for it"},
		}, []asked{{thisMigration + "/requalify", `{"envelope_hash":"` + anotherOf + `"}`}}},
	} {
		s.on("GET /v1/tenants", s.tenantPages()...)
		got := execute(t, s.environ, append([]string{"migration", "requalify", "--all", "--json"}, c.args...)...)
		var all []requalification
		must(t, json.Unmarshal([]byte(got.stdout), &all))
		if diff := cmp.Diff(c.want, all, cmpopts.IgnoreUnexported(requalification{})); diff != "" || got.code != c.code {
			t.Errorf("%v: code %d, outcomes (-want +got):\n%s", c.args, got.code, diff)
		}
		if diff := cmp.Diff(c.ask, s.wasAsked()); diff != "" {
			t.Errorf("%v: the API was asked for (-want +got):\n%s", c.args, diff)
		}
	}
	s.on("GET /v1/tenants", s.tenantPages()...)
	s.on("POST "+thisMigration+"/requalify", problem{Status: 409, Code: "envelope_stale", Detail: "It has changed.", Request: "r"})
	got := execute(t, s.environ, "migration", "requalify", "--all", "--execute")
	if got.code != exitFailed || !strings.Contains(got.stdout, "It has changed. (envelope_stale, request r)") || !strings.Contains(got.stderr, "not carried over: 2 of 2 migrations") {
		t.Errorf("refused: %+v", got)
	}
	if got := refused(t, s.environ, exitUsage, "migration", "requalify", "--all", "--envelope", anotherOf); !strings.Contains(got, "none of the others can be") {
		t.Errorf("--all and --envelope: %s", got)
	}
}

// tenantPages are the two tenants, each on a page of its own.
func (s *scripted) tenantPages() []any {
	return []any{holdfast.TenantPage{Tenants: []holdfast.Tenant{{ID: aTenant, Name: "acme"}}, NextCursor: new("c")},
		holdfast.TenantPage{Tenants: []holdfast.Tenant{{ID: aRun, Name: "beta"}}}}
}
