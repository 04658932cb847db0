package migration

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestQualification_IsKeptAsItWas_AndListed(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	at := time.Date(2026, 11, 3, 4, 5, 6, 789000, time.UTC)
	report := func(build string, ended time.Time, passed bool) Qualification {
		return Qualification{
			Type: QualificationType, Build: build, StartedAt: at, EndedAt: ended, Passed: passed,
			Databases:    []Database{{Name: "data1", System: "7", OID: 5, Numbers: "0-63"}},
			Store:        PlaceOf("https://store.example", "bodies"),
			Commands:     []string{"holdfast qualify --out <r&d>.json"},
			Observations: []Observation{{"bodies come back", passed, "ü \u2028"}},
			Forward:      Movement{Records: 1, LowRecords: 2, HighRecords: 1 << 52}, Limits: []string{"none"},
		}
	}
	var want []Qualified
	for i, q := range []Qualification{report("b", at.Add(3*time.Hour), true), report("a", at.Add(2*time.Hour), true), report("b", at.Add(time.Hour), false)} {
		hash, err := m.api.RecordQualification(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := m.api.RecordQualification(t.Context(), q); err != nil || again != hash {
			t.Errorf("report %d: recorded again it is %v, %v", i, again, err)
		}
		kept, err := m.Qualification(t.Context(), hash)
		if diff := cmp.Diff(q, kept); err != nil || diff != "" {
			t.Errorf("report %d: %v (-recorded +kept)\n%s", i, err, diff)
		}
		want = append(want, Qualified{hash, q.Build, q.Passed, q.EndedAt})
	}
	all, err := m.api.Qualifications(t.Context(), "")
	if diff := cmp.Diff(want, all); err != nil || diff != "" {
		t.Errorf("%v; all (-want +got)\n%s", err, diff)
	}
	some, err := m.api.Qualifications(t.Context(), "b")
	if diff := cmp.Diff([]Qualified{want[0], want[2]}, some); err != nil || diff != "" {
		t.Errorf("%v; of b (-want +got)\n%s", err, diff)
	}
	if _, err := m.api.Qualification(t.Context(), Hash{1}); domain.CodeOf(err) != "qualification_not_found" {
		t.Errorf("none: %v", err)
	}
	if _, err := m.in.Admin(t, "control").Exec(t.Context(), `UPDATE qualifications SET report = replace(report, '"passed":false', '"passed":true') WHERE NOT passed`); err != nil {
		t.Fatal(err)
	}
	if q, err := m.api.Qualification(t.Context(), want[2].Hash); err == nil {
		t.Errorf("a report that was changed by hand is taken: %+v", q)
	}
}

// A rehearsal reaches the tenant of qualifications only, whatever collections others
// have by the same name.
func TestRehearse_MovesNobodyElsesCollection(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 5)
	caller := operator("ada")
	if _, err := m.api.Rehearse(t.Context(), caller, []string{"orders"}, RecordBodies); domain.CodeOf(err) != "collection_not_found" {
		t.Errorf("of another tenant's collection: %v", err)
	}
	own, err := m.api.QualificationTenant(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.api.QualificationTenant(t.Context(), operator("bob")); err != nil || again.ID != own.ID {
		t.Errorf("another operator has the tenant %v, %v", again.ID, err)
	}
	acme := m.scope
	m.scope = tenancy.Scope{Tenant: own.ID, Principal: caller.Principal, Name: "qualify"}
	m.fill(t, "orders", 12)
	before := m.shown(t, "orders")
	for _, kind := range []Kind{RecordBodies, Rehydrate, RecordBodies} {
		moved, err := m.api.Rehearse(t.Context(), caller, []string{"orders"}, kind)
		if err != nil || moved.Records != 12 || moved.Passes < 3 || moved.LowRecords <= 0 || moved.HighRecords < moved.LowRecords {
			t.Errorf("%s: it moved %+v, %v", kind, moved, err)
		}
		if diff := cmp.Diff(before, m.shown(t, "orders")); diff != "" {
			t.Errorf("%s: readers see something else (-before +after)\n%s", kind, diff)
		}
	}
	if stands, err := m.api.records.Collection(t.Context(), acme, "orders"); err != nil || stands.Format != record.FormatSQL || stands.ID != c.ID {
		t.Errorf("the other tenant's collection is %+v, %v", stands, err)
	}
	if _, err := m.api.Rehearse(t.Context(), tenancy.Scope{Tenant: tenancy.Operators, Scopes: []string{tenancy.OperatorRead}}, nil, RecordBodies); domain.KindOf(err) != domain.KindForbidden {
		t.Errorf("by one who may not make tenants: %v", err)
	}
}

// A process that knows format 1 alone would be cut off.
func TestRehearse_IsRefusedWhileAnOldProcessIsAlive(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	old := m.api.This(ProcessAPI)
	old.Formats = []int16{record.FormatSQL}
	if err := m.api.Report(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if _, err := m.api.Rehearse(t.Context(), operator("ada"), nil, RecordBodies); domain.CodeOf(err) != "processes_too_old" {
		t.Errorf("it is refused by %v", err)
	}
	var floor int
	if err := m.admin[m.router.Databases()[0].Name].QueryRow(t.Context(), `SELECT max(record_format) FROM number_gates`).Scan(&floor); err != nil || floor != 1 {
		t.Errorf("the floor is %d, %v", floor, err)
	}
}
