package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// auditLines is the whole log as the API gives it.
func (s *stack) auditLines(t *testing.T, r *running) string {
	t.Helper()
	response, err := s.operator(t, r).ListAudit(t.Context(), nil, func(_ context.Context, request *http.Request) error {
		request.Header.Set("Accept", "application/x-ndjson")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func verifyAudit(t *testing.T, lines string, heads ...audit.Head) audit.Verdict {
	t.Helper()
	v, err := audit.Verify(strings.NewReader(lines), heads)
	if err != nil || v.Fault != nil {
		t.Fatalf("%+v %v\n%s", v, err, lines)
	}
	return v
}

// The log of an installation with two processes is one chain, as lines and as JSON,
// and a tenant reads of it what concerns it.
func TestAudit_IsOneChainOfWhichATenantReadsItsOwn(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	first, second := s.serve(t), s.serve(t)
	acme := s.tenant(t, first, "acme", tenancy.AuditRead, tenancy.LeaseAdmin)
	other := s.tenant(t, second, "other", tenancy.AuditRead)
	if _, err := s.operator(t, second).SuspendTenantWithResponse(t.Context(), other.id); err != nil {
		t.Fatal(err)
	}
	// A tenant's program tries what it may not, on another tenant.
	_, err := connect(t, first, acme.key).SuspendTenantWithResponse(t.Context(), other.id)
	if !holdfast.IsCode(err, "insufficient_scope") {
		t.Fatal(err)
	}
	if _, err := http.Post(first.url+"/v1/tenants", "application/json", strings.NewReader(`{"name":"x"}`)); err != nil {
		t.Fatal(err)
	}
	v := verifyAudit(t, s.auditLines(t, first))
	if len(v.Unknown) != 0 {
		t.Errorf("without an outcome: %v", v.Unknown)
	}
	head, err := s.operator(t, second).GetAuditHeadWithResponse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept, err := audit.ParseHead(head.Body)
	if err != nil {
		t.Fatal(err)
	}
	if v := verifyAudit(t, s.auditLines(t, second), kept); v.Heads != 1 {
		t.Errorf("%+v", v)
	}

	outcomes := map[string]int{}
	own, err := connect(t, first, acme.key).ListOwnAuditWithResponse(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range own.JSON200.Entries {
		outcomes[e.Operation+" "+string(e.Outcome)]++
		if e.TenantID == nil || *e.TenantID != acme.id || e.Previous != nil {
			t.Errorf("%+v", e)
		}
	}
	for _, want := range []string{"createPrincipal done", "createApiKey begun", "suspendTenant refused"} {
		if outcomes[want] != 1 {
			t.Errorf("%s: %d times in %v", want, outcomes[want], outcomes)
		}
	}
	theirs, err := s.operator(t, first).ListTenantAuditWithResponse(t.Context(), other.id, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range theirs.JSON200.Entries {
		if e.Outcome == "refused" {
			t.Errorf("an attempt of another tenant's program concerns it: %+v", e)
		}
	}
	anonymous, err := s.operator(t, first).ListAuditWithResponse(t.Context(), &holdfast.ListAuditParams{Operation: ptr("createTenant")})
	if err != nil {
		t.Fatal(err)
	}
	last := anonymous.JSON200.Entries[len(anonymous.JSON200.Entries)-1]
	if last.Outcome != "refused" || last.Actor != nil || *last.Status != http.StatusUnauthorized || *last.Address != "127.0.0.1" {
		t.Errorf("%+v", last)
	}
	if strings.Contains(s.auditLines(t, first), acme.key[len("hf_")+33:]) {
		t.Error("a key's secret is in the log")
	}
}

// What an act changed is told by digests of what the API shows.
func TestAudit_DigestsCanBeComputedFromTheAPI(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := s.serve(t)
	c := s.tenant(t, r, "acme")
	operator := s.operator(t, r)
	digest := func() string {
		shown, err := operator.GetTenantWithResponse(t.Context(), c.id)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := audit.Digest(shown.Body)
		if err != nil {
			t.Fatal(err)
		}
		return hash.String()
	}
	before := digest()
	if _, err := operator.SuspendTenantWithResponse(t.Context(), c.id); err != nil {
		t.Fatal(err)
	}
	after := digest()
	page, err := operator.ListAuditWithResponse(t.Context(), &holdfast.ListAuditParams{Operation: ptr("suspendTenant")})
	if err != nil {
		t.Fatal(err)
	}
	if e := page.JSON200.Entries; len(e) != 2 || *e[0].Before != before || *e[1].Before != before || *e[1].After != after || before == after {
		t.Errorf("%+v, want %s and %s", e, before, after)
	}
}

// A process that is killed within an act leaves its beginning, which says that nobody
// knows whether it was done. Others go on with the chain.
func TestAudit_AKilledProcessLeavesAnActWithoutAnOutcome(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	stays, dies := s.serve(t), s.spawn(t)
	c := s.tenant(t, stays, "acme")
	hold, err := s.installation.Admin(t, "control").Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Rollback(context.Background())
	if _, err := hold.Exec(t.Context(), `SELECT FROM tenants WHERE tenant_id = $1 FOR UPDATE`, c.id); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	dying := connect(t, dies, s.operatorKey)
	go func() {
		_, err := dying.SuspendTenantWithResponse(context.Background(), c.id)
		answered <- err
	}()
	eventually(t, "the act is begun", func() bool {
		page, err := s.operator(t, stays).ListAuditWithResponse(t.Context(), &holdfast.ListAuditParams{Operation: ptr("suspendTenant")})
		return err == nil && len(page.JSON200.Entries) == 1
	})
	dies.kill()
	if err := <-answered; err == nil {
		t.Fatal("it was answered")
	}
	if err := hold.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.tenant(t, stays, "another")
	if v := verifyAudit(t, s.auditLines(t, stays)); len(v.Unknown) != 1 {
		t.Errorf("without an outcome: %v", v.Unknown)
	}
}

// A tenant's program can't fill the log with acts that it may do, and keeps no operator
// from theirs.
func TestAudit_ATenantCantFillTheLog(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := s.serve(t)
	acme := s.newLimited(t, r, "acme", holdfast.SetLimits{})
	const flood = 200
	statuses := map[int]int{}
	for range flood {
		statuses[acme.send(t, http.MethodDelete, "/v1/worlds/none", "").status]++
	}
	begun, more := statuses[http.StatusNotFound], statuses[http.StatusTooManyRequests]
	if begun < 100 || more == 0 || begun+more != flood {
		t.Fatalf("answers by status: %v", statuses)
	}
	if _, err := s.operator(t, r).SuspendTenantWithResponse(t.Context(), acme.id); err != nil {
		t.Error(err)
	}
	entries := 0
	for line := range strings.Lines(s.auditLines(t, r)) {
		if strings.Contains(line, `"operation":"deleteWorld"`) {
			entries++
		}
	}
	// Refusals have 20 entries in ten seconds.
	if most := 2*begun + more; entries < 2*begun || entries >= most {
		t.Errorf("%d entries of %d acts and %d refusals", entries, begun, more)
	}
}
