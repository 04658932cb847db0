package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestMigrationPlan_PacketIsByteForByteWhatTheHashIsOf(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	text := `{"build":"v2 <é>","caps":{"records":4}}`
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	status := inState("previewed")
	status.Migration.PlanHash = &hash
	s.on("GET "+thisMigration, status)
	s.on("GET "+thisMigration+"/plans/"+hash, aPlanOf(hash, text))
	got := execute(t, s.environ, "migration", "plan", aTenant, aMigration, "--packet")
	if diff := cmp.Diff(result{exitOK, text, ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("plan --packet (-want +got):\n%s", diff)
	}
	if got := execute(t, s.environ, "migration", "plan", aTenant, aMigration, "--plan", hash); got.code != exitOK || !strings.HasPrefix(got.stdout, "PLAN             "+hash+"\n") {
		t.Errorf("plan --plan: %+v", got)
	}
	if got := refused(t, s.environ, exitUsage, "migration", "plan", aTenant, aMigration, "--packet", "--json"); !strings.Contains(got, "leave --json out") {
		t.Errorf("plan --packet --json: %s", got)
	}
	s.on("GET "+thisMigration, inState("requested"))
	if got := refused(t, s.environ, exitFailed, "migration", "plan", aTenant, aMigration); !strings.Contains(got, "no plan yet") {
		t.Errorf("without a plan: %s", got)
	}
}

func TestMigrationPreview_IsFreeToMakeUntilAPlanIsApproved(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET "+thisMigration, inState("requested"))
	s.on("POST "+thisMigration+"/preview", holdfast.PreviewedMigration{Migration: inState("previewed").Migration, Plan: aPlanOf(aPlan, "{}")})
	args := []string{"migration", "preview", aTenant, aMigration, "--qualification", anotherOf, "--records", "2", "--price-storage", "0.02", "--free-bytes", "5000"}
	got := execute(t, s.environ, args...)
	if got.code != exitOK || !strings.HasPrefix(got.stdout, "PLAN             "+aPlan+"\n") || !strings.Contains(got.stdout, countsNote) {
		t.Errorf("it says %+v", got)
	}
	previewed := []asked{{thisMigration + "/preview", `{"caps":{"bodies_in_flight":4,"bytes":8388608,"inspected_rows":64,"records":2},"free_bytes":5000,` +
		`"prices":{"class_a_per_million":4.5,"class_b_per_million":0.36,"storage_per_gb_month":0.02},"qualification":"` + anotherOf + `"}`}}
	if diff := cmp.Diff(previewed, s.wasAsked()); diff != "" {
		t.Errorf("the API was asked for (-want +got):\n%s", diff)
	}

	s.on("GET "+thisMigration, inState("approved"))
	got = execute(t, s.environ, args...)
	if got.code != exitOK || !strings.Contains(got.stdout, "whose approval would be void.\nNothing was changed.") || s.wasAsked() != nil {
		t.Fatalf("of one that is approved it says %+v", got)
	}
	_, line, _ := strings.Cut(got.stdout, "To do it:\n  holdfast ")
	if done := execute(t, s.environ, inShell(t, line)...); done.code != exitOK {
		t.Errorf("%s: %+v", line, done)
	}
	if diff := cmp.Diff(previewed, s.wasAsked()); diff != "" {
		t.Errorf("%s\nthe API was asked for (-want +got):\n%s", line, diff)
	}
	if got := refused(t, s.environ, exitUsage, "migration", "preview", aTenant, aMigration); !strings.Contains(got, `"qualification" not set`) {
		t.Errorf("without a qualification: %s", got)
	}
}

func TestMigrationDrift_IsToldByTheExitCode(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET "+thisMigration+"/drift", holdfast.MigrationDrift{Drift: []holdfast.PlanDrift{}})
	if got := execute(t, s.environ, "migration", "drift", aTenant, aMigration); got.code != exitOK || got.stdout != "Nothing differs: the plan is as it would be made now.\n" {
		t.Errorf("without drift: %+v", got)
	}
	s.on("GET "+thisMigration+"/drift", holdfast.MigrationDrift{Drift: []holdfast.PlanDrift{{Field: "/build", Was: `"v2"`, Is: `"v3"`}}})
	want := result{exitDiffers, "FIELD   IN THE PLAN  NOW\n/build  \"v2\"         \"v3\"\n", ""}
	if diff := cmp.Diff(want, execute(t, s.environ, "migration", "drift", aTenant, aMigration), cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("with drift (-want +got):\n%s", diff)
	}
}

func TestMigrationCaps_AreLoweredByName(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "active")
	for _, execute := range []string{"--execute=true", "--execute=false"} {
		if got := refused(t, s.environ, exitUsage, "migration", "caps", aTenant, aMigration, execute); !strings.Contains(got, "name a cap to lower") || s.wasAsked() != nil {
			t.Errorf("without a cap: %s", got)
		}
	}
	got := execute(t, s.environ, "migration", "caps", aTenant, aMigration, "--bytes", "65536", "--rows", "8")
	if !strings.Contains(got.stdout, "Now a pass inspects 64 rows, moves 4 records of 8.0 MiB, 4 bodies at once.\n"+
		"Then a pass inspects 8 rows, moves 4 records of 64.0 KiB, 4 bodies at once.\n") {
		t.Errorf("it says %+v", got)
	}
}

func TestMigrationWords_SizesOfBytes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{0: "0 bytes", 1023: "1023 bytes", 1024: "1.0 KiB", 8 << 20: "8.0 MiB", 3 << 29: "1.5 GiB", 1 << 62: "4096.0 PiB"} {
		if got := sized(bytes); got != want {
			t.Errorf("%d are %q, want %q", bytes, got, want)
		}
	}
}
