package httpapi

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

const leasePath = "/v1/worlds/north-7/lease"

const withLease = "Holdfast-Lease: 2.s3-cr_et"

var theLease = lease.Authority{Epoch: 2, Secret: "s3-cr_et"}

const leaseText = `{"activate_by":"2026-11-30T12:01:00Z","activated":true,"at":"2026-11-30T12:00:00Z","chain_hash":"` + theHashText + `",` +
	`"epoch":2,"expires_at":"2026-11-30T12:00:30Z","granted_position":12,"holder":{"issuer":"holdfast","subject":"node-1","type":"principal"},` +
	`"position":17,"remaining_ms":29998,"renewed_position":15,"term_seconds":30,"world_id":"north-7","written_position":14}`

const hostedText = `{"activated":true,"at":"2026-11-30T12:00:00Z","chain_hash":"` + theHashText + `","epoch":2,"granted_position":12,` +
	`"holder":{"type":"coordinator"},"position":17,"renewed_position":15,"world_id":"north-7","written_position":14}`

func TestGetLease_HasNoTermForTheCoordinator(t *testing.T) {
	t.Parallel()
	for hosted, want := range map[bool]string{false: leaseText, true: hostedText} {
		a := newTestAPI(t, testOptions{})
		a.coordinator.hosted = hosted
		w := a.do(t, request{method: "GET", target: leasePath})
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
			t.Errorf("%d %s\nwant %s", w.Code, got, want)
		}
	}
}

func TestGetLease_AtAPositionProvesItByTheEntryToTheLetter(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	entry := theEntry(12)
	w := a.do(t, request{method: "GET", target: leasePath + "?position=14"})
	want := `{"world_id":"north-7","position":14,"epoch":2,"holder":` + theNodeText + `,"proof":` + string(entry.AppendJSON(nil)) + `}`
	if got := w.Body.String(); w.Code != http.StatusOK || got != want || w.Header().Get("Content-Type") != mediaJSON {
		t.Errorf("%d %s\nwant %s", w.Code, got, want)
	}
	if diff := cmp.Diff(any(looked{false, testTenant, "north-7", 14}), a.coordinator.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestGetTenantLease_IsWhatTheTenantSeesOfATenantThatIsThere(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.store.known.ID = testTenant
	operators := "/v1/tenants/" + testTenant.String() + "/worlds/north-7/lease"
	for query, position := range map[string]int64{"": 0, "?position=14": 14} {
		tenants := a.do(t, request{method: "GET", target: leasePath + query, token: "tenant"})
		w := a.do(t, request{method: "GET", target: operators + query, token: "operator"})
		if diff := cmp.Diff(tenants.Body.String(), w.Body.String()); diff != "" || w.Code != http.StatusOK || w.Header().Get("Content-Type") != mediaJSON {
			t.Errorf("%q: %d %v (-tenant's +operator's):\n%s", query, w.Code, w.Header(), diff)
		}
		if diff := cmp.Diff(any(looked{true, testTenant, "north-7", position}), a.coordinator.got); diff != "" {
			t.Errorf("%q: asked (-want +got):\n%s", query, diff)
		}
		a.coordinator.got = nil
		w = a.do(t, request{method: "GET", target: strings.Replace(operators, testTenant.String(), otherTenant.String(), 1) + query, token: "operator"})
		if p := problemIn(t, w); p.Code != "tenant_not_found" || a.coordinator.got != nil {
			t.Errorf("%q of a tenant that isn't there: %s, asked %v", query, p.Code, a.coordinator.got)
		}
	}
}

func TestAcquireLease_RoundsTheRemainingTimeDownAndIsKeptByNobody(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "POST", target: leasePath + "/acquire", body: `{"request_id":"r/1","term_seconds":45,"activate_within_seconds":90,"wait_seconds":7,"takeover":true}`})
	want := `{"activate_by":"2026-11-30T12:01:00Z","activated":false,"epoch":2,"expires_at":"2026-11-30T12:00:00Z","handoff_position":12,` +
		`"remaining_ms":29999,"secret":"s3cret","term_seconds":30,"world_id":"north-7"}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v %s\nwant %s", w.Code, w.Header(), got, want)
	}
	asked := lease.Acquire{RequestID: "r/1", Term: 45 * time.Second, Replay: 90 * time.Second, Wait: 7 * time.Second, Takeover: true}
	if diff := cmp.Diff(any(asked), a.coordinator.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	a.do(t, request{method: "POST", target: leasePath + "/acquire", body: `{"request_id":"r"}`})
	if diff := cmp.Diff(any(lease.Acquire{RequestID: "r"}), a.coordinator.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestHeldLease_IsPresentedInTheHeader(t *testing.T) {
	t.Parallel()
	change := `{"epoch":3,"holder":{"type":"coordinator"},"position":18,"world_id":"north-7"}`
	for path, c := range map[string]struct {
		body, want string
		rest       any
	}{
		"/activate": {`{"replayed_position":12,"chain_hash":"` + theHashText + `"}`, leaseText, []any{int64(12), theHash}},
		"/renew":    {"", `{"epoch":2,"expires_at":"2026-11-30T12:00:00Z","remaining_ms":1,"term_seconds":30,"world_id":"north-7"}`, nil},
		"/handoff":  {`{"to":"next"}`, change, lease.ToNext},
	} {
		a := newTestAPI(t, testOptions{})
		w := a.do(t, request{method: "POST", target: leasePath + path, body: c.body, headers: []string{withLease}})
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != c.want {
			t.Errorf("%s: %d %s\nwant %s", path, w.Code, got, c.want)
		}
		if diff := cmp.Diff(any(presented{"north-7", theLease, c.rest}), a.coordinator.got); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", path, diff)
		}
		without := problemIn(t, a.do(t, request{method: "POST", target: leasePath + path, body: c.body}))
		if diff := cmp.Diff([]FieldError{{Pointer: headerLease, Code: "required"}}, fieldsIn(without)); diff != "" {
			t.Errorf("%s without (-want +got):\n%s", path, diff)
		}
	}
}

func TestHeldLease_HasOneSpelling(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		"2", "2.", ".s", "s.2", "0.s", "-2.s", "+2.s", "02.s", "2 .s", "2.s s", "2.s.s", "2,s", "2.s=", "2.é", "9223372036854775808.s",
		"9007199254740992.s", // which no journal can tell of
		"2." + strings.Repeat("s", 129),
	} {
		a := newTestAPI(t, testOptions{})
		w := a.do(t, request{method: "POST", target: leasePath + "/renew", headers: []string{"Holdfast-Lease: " + header}})
		if p := problemIn(t, w); w.Code != http.StatusBadRequest || p.Code != "lease_malformed" || a.coordinator.got != nil {
			t.Errorf("%q: %d %s", header, w.Code, p.Code)
		}
	}
}

func TestRevokeLease_IsTheTenantsOwnOrAnOperatorsForATenantThatIsThere(t *testing.T) {
	t.Parallel()
	const body = `{"epoch":2,"renewed_position":15,"reason":"It hangs."}`
	asked := lease.Revoke{Epoch: 2, RenewedPosition: 15, Reason: "It hangs."}
	a := newTestAPI(t, testOptions{})
	a.store.known.ID = testTenant
	operators := "/v1/tenants/" + testTenant.String() + "/worlds/north-7/lease/revoke"
	for target, c := range map[string]struct {
		token string
		want  revoked
	}{
		leasePath + "/revoke": {"tenant", revoked{false, testTenant, "north-7", asked}},
		operators:             {"operator", revoked{true, testTenant, "north-7", asked}},
	} {
		w := a.do(t, request{method: "POST", target: target, token: c.token, body: body})
		if want := `{"epoch":3,"holder":{"type":"coordinator"},"position":18,"world_id":"north-7"}`; strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		if diff := cmp.Diff(any(c.want), a.coordinator.got); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", target, diff)
		}
	}
	a.coordinator.got = nil
	w := a.do(t, request{method: "POST", target: strings.Replace(operators, testTenant.String(), otherTenant.String(), 1), token: "operator", body: body})
	if p := problemIn(t, w); p.Code != "tenant_not_found" || a.coordinator.got != nil {
		t.Errorf("of a tenant that isn't there: %s, asked %v", p.Code, a.coordinator.got)
	}
}

func TestRenewLeases_EachHasItsOwnResult(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	fenced := domain.Conflict("fenced", "Stop.").With("epoch", int64(9)).With("holder", theNode)
	a.coordinator.renewed = []lease.Renewed{
		{Renewal: lease.Renewal{World: "a", Epoch: 2, ExpiresAt: verifiedAt, Term: 30 * time.Second, Remaining: 30 * time.Second}},
		{Renewal: lease.Renewal{World: "b"}, Err: fenced},
		{Renewal: lease.Renewal{World: "c"}, Err: domain.OutcomeUnknown("outcome_unknown", "Renew again.")},
		{Renewal: lease.Renewal{World: "d"}, Err: errors.New(secretText)},
	}
	w := a.do(t, request{method: "POST", target: "/v1/leases/renew", body: `{"renewals":[{"world_id":"a","epoch":2,"secret":"s"},{"world_id":"b","epoch":3,"secret":"t"}]}`})
	want := `{"results":[{"renewal":{"epoch":2,"expires_at":"2026-11-30T12:00:00Z","remaining_ms":30000,"term_seconds":30,"world_id":"a"},"world_id":"a"},` +
		`{"refusal":{"code":"fenced","detail":"Stop.","epoch":9,"holder":{"issuer":"holdfast","subject":"node-1","type":"principal"}},"world_id":"b"},` +
		`{"refusal":{"code":"outcome_unknown","detail":"Renew again.","retry_after":1},"world_id":"c"},` +
		`{"refusal":{"code":"internal","detail":"Something went wrong in the service. Its operators can find it by the request's id."},"world_id":"d"}]}`
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
		t.Errorf("%d %s\nwant %s", w.Code, got, want)
	}
	if !strings.Contains(a.log.String(), `relation \"accounts\"`) {
		t.Errorf("the log doesn't tell what went wrong: %s", a.log)
	}
	asked := []lease.Renew{{World: "a", Authority: lease.Authority{Epoch: 2, Secret: "s"}}, {World: "b", Authority: lease.Authority{Epoch: 3, Secret: "t"}}}
	if diff := cmp.Diff(any(asked), a.coordinator.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	many := `{"renewals":[` + strings.Repeat(`{"world_id":"a","epoch":2,"secret":"s"},`, 1000) + `{"world_id":"a","epoch":2,"secret":"s"}]}`
	if p := problemIn(t, a.do(t, request{method: "POST", target: "/v1/leases/renew", body: many})); p.Code != codeRequestInvalid {
		t.Errorf("1,001 of them: %s", p.Code)
	}
}

func TestProblem_TellsWhatTheDomainTellsForPrograms(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.coordinator.err = domain.Conflict("fenced", "Stop.").With("epoch", int64(9)).With("holder", journal.Coordinator).
		With("position", int64(4)).With("entry_id", "e").With("known", []string{"f"}).With("handoff_position", int64(5)).With("renewed_position", int64(6))
	w := a.do(t, request{method: "POST", target: leasePath + "/renew", headers: []string{withLease}})
	got := problemIn(t, w)
	n := func(n int64) *int64 { return &n }
	id, known := "e", []string{"f"}
	want := Problem{
		Type: "urn:holdfast:problem:fenced", Title: "Conflict", Status: 409, Code: "fenced", Detail: "Stop.", RequestID: got.RequestID,
		Epoch: n(9), Holder: &JournalActor{Type: "coordinator"}, Position: n(4), EntryID: &id, Known: &known, HandoffPosition: n(5), RenewedPosition: n(6),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
