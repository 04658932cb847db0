package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestMigrationDeferred_NamesWhatCouldNotBeMovedAndTheSafeStep(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	deferred := holdfast.DeferredSection{DeferredID: "b3JkZXJz", Collection: "orders", Key: "o-\x1b1", Section: "items", Reason: "length_mismatch",
		Attempts: 2, FirstAt: someTime, LastAt: someTime, NextStep: "Publish the record anew."}
	s.on("GET "+thisMigration, inState("stopped"))
	s.on("GET "+thisMigration+"/deferred", holdfast.DeferredSections{Deferred: []holdfast.DeferredSection{deferred}})
	s.on("POST "+thisMigration+"/deferred/b3JkZXJz/retry", deferred)
	got := execute(t, s.environ, "migration", "deferred", "list", aTenant, aMigration)
	row := `b3JkZXJz  orders      "o-\x1b1"  items    length_mismatch  2         2026-11-30T12:00:00Z  no           Publish the record anew.` + "\n"
	if got.code != exitDiffers || !strings.HasSuffix(got.stdout, row) {
		t.Errorf("deferred list: %+v", got)
	}

	retry := []string{"migration", "deferred", "retry", aTenant, aMigration, "b3JkZXJz"}
	got = execute(t, s.environ, retry...)
	if got.code != exitOK || !strings.Contains(got.stdout, "deferred for length_mismatch after 2 attempts.\nFor it to succeed: Publish the record anew.") || s.wasAsked() != nil {
		t.Errorf("deferred retry: %+v", got)
	}
	if got := execute(t, s.environ, append(retry, "--execute")...); got.code != exitOK {
		t.Errorf("deferred retry --execute: %+v", got)
	}
	if diff := cmp.Diff([]asked{{thisMigration + "/deferred/b3JkZXJz/retry", ""}}, s.wasAsked()); diff != "" {
		t.Errorf("the API was asked for (-want +got):\n%s", diff)
	}
	retry[5] = "AAAA"
	if got := refused(t, s.environ, exitFailed, retry...); !strings.Contains(got, "no deferred section of the id AAAA") {
		t.Errorf("of another id: %s", got)
	}
	retry[5] = "../x"
	if got := refused(t, s.environ, exitUsage, retry...); !strings.Contains(got, `DEFERRED "../x" is not an id`) {
		t.Errorf("of what is no id: %s", got)
	}

	s.on("GET "+thisMigration+"/deferred", holdfast.DeferredSections{Deferred: []holdfast.DeferredSection{}})
	if got := execute(t, s.environ, "migration", "deferred", "list", aTenant, aMigration); got.code != exitOK {
		t.Errorf("of none: %+v", got)
	}
}
