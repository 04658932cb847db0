package migration

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

func TestDeferredID_HasOneSpelling(t *testing.T) {
	part := rapid.StringMatching(`[^\x00]+`)
	rapid.Check(t, func(t *rapid.T) {
		collection, key, section := part.Draw(t, "collection"), part.Draw(t, "key"), part.Draw(t, "section")
		id := deferredID(collection, key, section)
		c, k, s, ok := id.parse()
		if !ok || c != collection || k != key || s != section {
			t.Fatalf("%q reads back as %q, %q, %q", id, c, k, s)
		}
		other := DeferredID(rapid.String().Draw(t, "other"))
		if c, k, s, ok := other.parse(); ok && deferredID(c, k, s) != other {
			t.Fatalf("%q parses, and is spelled %q", other, deferredID(c, k, s))
		}
		for _, bad := range []DeferredID{id + "=", id + "A", id[:len(id)-1], "." + id} {
			if c, k, s, ok := bad.parse(); ok && (c == collection && k == key && s == section || !utf8.ValidString(c+k+s)) {
				t.Fatalf("%q parses as %q, %q, %q", bad, c, k, s)
			}
		}
	})
}

// spoil makes the content of a section another one than its digest's.
func (m *moving) spoil(t testing.TB, key, section string) {
	t.Helper()
	m.every(t, `UPDATE sections_in_sql SET content = overlay(content placing '\xff' from 1) WHERE item_key = $1 AND section = $2`, key, section)
}

func (m *moving) deferred(t testing.TB, of Migration) []Deferred {
	t.Helper()
	all, err := m.api.DeferredOf(t.Context(), of.Tenant, of.ID)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func sameDeferred(t testing.TB, got []Deferred, want ...Deferred) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Deferred{}, "ID", "FirstAt", "LastAt", "NextStep"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("deferred (-want +got)\n%s", diff)
	}
	for _, d := range got {
		if d.NextStep == "" || d.FirstAt.IsZero() || d.LastAt.Before(d.FirstAt) {
			t.Errorf("a deferred section is %+v", d)
		}
	}
}

func TestDeferred_AreListed_TriedAgain_AndResolvedByPublishingAnew(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 6)
	m.fill(t, "invoices", 3)
	m.spoil(t, "key-0001", "items") // in both
	m.every(t, `DELETE FROM export_entries WHERE item_key = 'key-0003' AND section = 'closed'`)
	active := m.active(t, RecordBodies)
	m.run(t, active)
	invoices, closed, orders := Deferred{Collection: "invoices", Key: "key-0001", Section: "items", Reason: record.DefectDigest, Attempts: 1},
		Deferred{Collection: "orders", Key: "key-0003", Section: "closed", Reason: record.DefectExport, Attempts: 1},
		Deferred{Collection: "orders", Key: "key-0001", Section: "items", Reason: record.DefectDigest, Attempts: 1}
	all := m.deferred(t, active)
	sameDeferred(t, all, invoices, orders, closed)
	if p := m.progress(t, m.now(t, active.ID)); p.Deferred != 3 || p.Left.Records != 3 {
		t.Errorf("the progress tells of %d deferred in %+v", p.Deferred, p.Left)
	}

	// One is published anew, and is no longer shown, before any sweep has gone by.
	m.publish(t, "orders", record.Publication{
		Key: "key-0001", OperationID: "anew", Bodies: map[string][]byte{"items": []byte("anew")}, Expect: record.Expectation{Revision: 1},
	})
	sameDeferred(t, m.deferred(t, active), invoices, closed)
	if p := m.progress(t, m.now(t, active.ID)); p.Deferred != 2 || p.Left.Records != 3 { // what it has besides is yet to be moved
		t.Errorf("the progress tells of %d deferred in %+v", p.Deferred, p.Left)
	}
	if _, err := m.api.RetryDeferred(t.Context(), planner, active.Tenant, active.ID, all[1].ID); domain.CodeOf(err) != "deferred_not_found" {
		t.Errorf("what was published anew is to be tried again: %v", err)
	}

	// Another one is mended, and tried again; and the last is tried again as it is.
	m.every(t, `INSERT INTO export_entries SELECT s.tenant_id, s.number, s.collection_id, s.section, s.export_sequence, s.item_key
		FROM sections_in_sql s WHERE s.item_key = 'key-0003' AND s.section = 'closed' ON CONFLICT DO NOTHING`)
	for _, d := range []Deferred{all[0], all[2]} {
		for range 2 { // asking twice is asking once
			again, err := m.api.RetryDeferred(t.Context(), planner, active.Tenant, active.ID, d.ID)
			d.Retry = true
			if diff := cmp.Diff(d, again); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		}
	}
	if _, err := m.api.Approve(t.Context(), approver, active.Tenant, active.ID, active.PlanHash); err != nil {
		t.Fatal(err)
	}
	resumed, err := m.api.Resume(t.Context(), planner, active.Tenant, active.ID, active.PlanHash)
	if err != nil {
		t.Fatal(err)
	}
	if run := m.run(t, resumed); run.Outcome != OutcomeStopped {
		t.Errorf("the run is %+v", run)
	}
	invoices.Attempts = 2
	sameDeferred(t, m.deferred(t, active), invoices)
}

func TestRetryDeferred_RefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 2)
	m.spoil(t, "key-0001", "items")
	requested := m.ask(t, RecordBodies, "orders")
	retry := func(tenant domain.TenantID, migration domain.MigrationID, id DeferredID) string {
		_, err := m.api.RetryDeferred(t.Context(), planner, tenant, migration, id)
		return domain.CodeOf(err)
	}
	there := deferredID("orders", "key-0001", "items")
	if code := retry(requested.Tenant, requested.ID, there); code != "migration_state" {
		t.Errorf("before the activation: %q", code)
	}
	active := m.active(t, RecordBodies, "orders")
	m.run(t, active)
	for name, id := range map[string]DeferredID{
		"nothing": "", "no base64": "###", "another section": deferredID("orders", "key-0001", "plans"), "one that moved": deferredID("orders", "key-0000", "items"),
		"another collection": deferredID("invoices", "key-0001", "items"), "bad UTF-8": deferredID("orders", "\xff", "items"), "a NUL": deferredID("orders", "a\x00b", "items"),
	} {
		if code := retry(active.Tenant, active.ID, id); code != "deferred_not_found" {
			t.Errorf("%s: %q", name, code)
		}
	}
	elsewhere := newMoving(t)
	if code := retry(elsewhere.scope.Tenant, active.ID, there); code != "migration_not_found" {
		t.Errorf("another tenant's: %q", code)
	}
	if _, err := m.api.DeferredOf(t.Context(), elsewhere.scope.Tenant, active.ID); domain.CodeOf(err) != "migration_not_found" {
		t.Errorf("another tenant's list: %v", err)
	}
	if n := m.counted(t, `SELECT count(*) FROM migration_deferred WHERE retry`); n != 0 {
		t.Errorf("%d are to be tried again", n)
	}
}

// On the way back the rows are in the store's table.
func TestDeferred_OfTheWayBack(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 4)
	m.through(t, &m.plan, c)
	m.closeCheckpoints(t)
	m.every(t, `DELETE FROM export_entries WHERE item_key = 'key-0003' AND section = 'closed'`)
	back := m.active(t, Rehydrate)
	m.run(t, back)
	all := m.deferred(t, back)
	sameDeferred(t, all, Deferred{Collection: "orders", Key: "key-0003", Section: "closed", Reason: record.DefectExport, Attempts: 1})
	p, err := m.api.Progress(t.Context(), m.now(t, back.ID))
	if err != nil || p.Deferred != 1 || p.Left != (Left{1, 2, true}) {
		t.Errorf("the progress tells of %d deferred, %+v, %v", p.Deferred, p.Left, err)
	}
	if again, err := m.api.RetryDeferred(t.Context(), planner, back.Tenant, back.ID, all[0].ID); err != nil || !again.Retry {
		t.Errorf("to be tried again: %+v, %v", again, err)
	}
	m.publish(t, "orders", record.Publication{
		Key: "key-0003", OperationID: "anew", Bodies: map[string][]byte{"items": []byte("anew")}, Expect: record.Expectation{Revision: 2},
	})
	sameDeferred(t, m.deferred(t, back))
}
