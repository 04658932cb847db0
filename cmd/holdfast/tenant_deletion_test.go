package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func TestTenantDeletion_IsAskedForApprovedAndCalledOff(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	if got := refused(t, s.as(s.operatorKey), exitFailed, "tenant", "delete", tenant); !strings.Contains(got, "Say --yes") {
		t.Errorf("without --yes: %q", got)
	}
	asked := told[holdfast.TenantDeletion](t, s, "tenant", "delete", tenant, "--yes")
	if asked.Tenant.State != "active" || asked.AskedBy != "first" || asked.ApprovedBy != nil {
		t.Errorf("asked for: %+v", asked)
	}
	if got := refused(t, s.as(s.operatorKey), exitFailed, "tenant", "deletion", "approve", tenant, "--yes"); !strings.Contains(got, "approver_is_involved") {
		t.Errorf("approved by who asked: %q", got)
	}
	operator := told[holdfast.Principal](t, s, "operator", "create", "made-up", "--scopes", "operator:approve,operator:read")
	key := told[holdfast.CreatedAPIKey](t, s, "operator", "key", "create", operator.ID).APIKey
	if got := refused(t, s.as(key), exitFailed, "tenant", "deletion", "approve", tenant, "--yes"); !strings.Contains(got, "approver_is_involved") {
		t.Errorf("approved by whom the asker made: %q", got)
	}
	if got := execute(t, s.as(s.graceKey), "tenant", "deletion", "approve", tenant, "--yes"); got.code != exitOK {
		t.Errorf("approved: %+v", got)
	}
	shown := told[holdfast.TenantDeletion](t, s, "tenant", "deletion", "show", tenant)
	if shown.Tenant.State != "deleting" || shown.ApprovedBy == nil || *shown.ApprovedBy != "grace" || shown.PurgeAfter == nil {
		t.Errorf("approved: %+v", shown)
	}
	if got := refused(t, s.as(s.operatorKey), exitDiffers, "tenant", "suspend", tenant); !strings.Contains(got, "tenant_deleting") {
		t.Errorf("suspended: %q", got)
	}
	held := told[holdfast.Tenant](t, s, "tenant", "hold", "set", tenant, "--reason", "a lawsuit")
	if held.LegalHold == nil || held.LegalHold.Reason != "a lawsuit" || held.LegalHold.SetBy != "first" {
		t.Errorf("held: %+v", held)
	}
	if lifted := told[holdfast.Tenant](t, s, "tenant", "hold", "lift", tenant); lifted.LegalHold != nil {
		t.Errorf("lifted: %+v", lifted)
	}
	if back := told[holdfast.Tenant](t, s, "tenant", "deletion", "cancel", tenant); back.State != "active" {
		t.Errorf("called off: %+v", back)
	}
	if got := refused(t, s.as(s.operatorKey), exitFailed, "tenant", "deletion", "show", tenant); !strings.Contains(got, "deletion_not_found") {
		t.Errorf("shown: %q", got)
	}
	if renamed := told[holdfast.Tenant](t, s, "tenant", "rename", tenant, "initech"); renamed.Name != "initech" {
		t.Errorf("renamed: %+v", renamed)
	}
}

// The bodies come once each, under their digests; what is there already isn't fetched
// again, and what isn't is.
func TestTenantExport_WritesLinesAndBodies_AndGoesOn(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1", "data2")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	principal := told[holdfast.Principal](t, s, "principal", "create", tenant, "producer", "--scopes", "record:read,record:write")
	key := told[holdfast.CreatedAPIKey](t, s, "key", "create", tenant, principal.ID).APIKey
	producer, err := holdfast.Connect(s.url, key)
	must(t, err)
	_, err = producer.PutCollectionWithResponse(t.Context(), "orders", holdfast.NewCollection{})
	must(t, err)
	body := []byte("the very bytes")
	for _, item := range []string{"one", "two"} {
		_, err := producer.PutRecordWithResponse(t.Context(), "orders", item, &holdfast.PutRecordParams{IfNoneMatch: new("*")},
			holdfast.Publication{OperationID: "publish-" + item, Sections: &holdfast.Sections{"items": {Body: body}}})
		must(t, err)
	}
	directory := filepath.Join(t.TempDir(), "out")
	done := told[tenantExport](t, s, "tenant", "export", tenant, "--output", directory)
	if done.Bodies != 1 || done.Bytes != int64(len(body)) || done.Missing != 0 {
		t.Errorf("exported: %+v", done)
	}
	if text, err := os.ReadFile(filepath.Join(directory, "export.ndjson")); err != nil || done.Lines != int64(strings.Count(string(text), "\n")) {
		t.Errorf("%d lines are told, %v: %s", done.Lines, err, text)
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	must(t, os.Chtimes(filepath.Join(directory, "export.ndjson"), yesterday, yesterday))
	for range 2 {
		again := refused(t, s.as(s.operatorKey), exitFailed, "tenant", "export", tenant, "--output", directory)
		if !strings.Contains(again, "is complete already, made at "+when(yesterday)) || !strings.Contains(again, "another directory") {
			t.Errorf("again: %q", again)
		}
	}
	found, err := filepath.Glob(filepath.Join(directory, "bodies", "*", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the bodies are %v, %v", found, err)
	}
	if got, err := os.ReadFile(found[0]); err != nil || string(got) != string(body) {
		t.Errorf("the body is %q, %v", got, err)
	}
	must(t, os.Remove(found[0]))
	told[tenantExport](t, s, "tenant", "export", tenant, "--output", directory)
	if _, err := os.Stat(found[0]); err != nil {
		t.Errorf("it wasn't fetched again: %v", err)
	}
}
