package migration

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// moved is a migration of all that the tenant has, drained.
func (m *moving) moved(t testing.TB) Migration {
	t.Helper()
	active := m.active(t, RecordBodies)
	m.run(t, active)
	return m.now(t, active.ID)
}

func (m *moving) beginScrub(t testing.TB, of Migration, budget ScrubBudget) Report {
	t.Helper()
	r, err := m.api.BeginScrub(t.Context(), planner, of.Tenant, of.ID, of.PlanHash, budget)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// scrubbed has a worker do a scrub to its end.
func (m *moving) scrubbed(t testing.TB, worker *Service, r Report) Report {
	t.Helper()
	for ended := false; !ended; {
		var err error
		if ended, err = worker.Scrub(t.Context(), r.Tenant, r.Migration, r.ID, time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	ended, err := m.api.ReportOf(t.Context(), r.Tenant, r.Migration, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return ended
}

// bodies is how many bodies are in the store, and their bytes, a section at a time.
func (m *moving) bodies(t testing.TB) (bodies, bytes int64) {
	t.Helper()
	return int64(m.counted(t, `SELECT count(*) FROM sections_in_store WHERE live`)),
		int64(m.counted(t, `SELECT coalesce(sum(length), 0) FROM sections_in_store WHERE live`))
}

func TestScrub_ReadsEveryBody(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 90)
	m.fill(t, "invoices", 7)
	m.fill(t, "empty", 0)
	drained := m.moved(t)
	begun := m.beginScrub(t, drained, ScrubBudget{})
	m.refused(t, "scrub_under_way", drained.ID, func(ctx context.Context) error {
		_, err := m.api.BeginScrub(ctx, planner, drained.Tenant, drained.ID, drained.PlanHash, ScrubBudget{})
		return err
	})
	before := m.faults.Count(http.MethodGet)
	r := m.scrubbed(t, m.Service, begun)
	bodies, bytes := m.bodies(t)
	p := r.Scrub
	if !r.Passed || !p.Covered || p.Bodies != bodies || p.Bytes != bytes || p.OfBodies != bodies || p.OfBytes != bytes || p.Sections <= bodies {
		t.Errorf("of %d bodies of %d bytes the scrub has %+v", bodies, bytes, p)
	}
	if got := m.faults.Count(http.MethodGet) - before; int64(got) != bodies {
		t.Errorf("%d objects were read for %d bodies", got, bodies)
	}
	if ended, err := m.Scrub(t.Context(), r.Tenant, r.Migration, r.ID, time.Now().Add(time.Minute)); !ended || err != nil {
		t.Errorf("a scrub that has ended goes on: %v, %v", ended, err)
	}
	if now := m.now(t, drained.ID); now.State != Drained {
		t.Errorf("the migration is %s", now.State)
	}
}

// A worker that is killed leaves the cursor with what was counted, and two at once
// count each page once.
func TestScrub_InterruptedAndByTwoWorkers_CountsEachPageOnce(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 150)
	r := m.beginScrub(t, m.moved(t), ScrubBudget{})
	ctx, kill := context.WithCancel(t.Context())
	m.faults.On(http.MethodGet, append(make([]testkit.Fault, 100), func(*http.Request, func() (*http.Response, error)) (*http.Response, error) {
		kill()
		return nil, ctx.Err()
	})...)
	if ended, err := m.Scrub(ctx, r.Tenant, r.Migration, r.ID, time.Now().Add(time.Minute)); ended || err == nil {
		t.Errorf("a killed worker's slice came to %v, %v", ended, err)
	}
	second := m.process(t, postgres.RoleWorker, "build-1")
	var both sync.WaitGroup
	for _, worker := range []*Service{m.Service, second} {
		both.Go(func() {
			if ended, err := worker.Scrub(t.Context(), r.Tenant, r.Migration, r.ID, time.Now().Add(time.Minute)); !ended || err != nil {
				t.Errorf("a slice came to %v, %v", ended, err)
			}
		})
	}
	both.Wait()
	bodies, bytes := m.bodies(t)
	ended, err := m.api.ReportOf(t.Context(), r.Tenant, r.Migration, r.ID)
	if p := ended.Scrub; err != nil || !ended.Passed || p.Bodies != bodies || p.Bytes != bytes {
		t.Errorf("of %d bodies of %d bytes the scrub has %+v, %v", bodies, bytes, p, err)
	}
}

// objectOf is the key of a body of the tenant's, by its bytes.
func (m *moving) objectOf(t testing.TB, body string) string {
	t.Helper()
	bucket := testkit.OpenBodies(t, testkit.BodyStore(t))
	digest := record.DigestOf([]byte(body)).String()
	all, _, err := bucket.List(t.Context(), "tenants/"+m.scope.Tenant.String()+"/", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range all {
		if strings.HasSuffix(object.Key, digest) {
			return object.Key
		}
	}
	t.Fatalf("no object has %q", body)
	return ""
}

func TestScrub_FindsWrongAndMissingBodies_AndStopsTheMigration(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	m.publish(t, "orders", record.Publication{
		Key: "lost", OperationID: "lost", Expect: record.Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("to be lost")},
	})
	m.publish(t, "orders", record.Publication{
		Key: "spoilt", OperationID: "spoilt", Expect: record.Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("to be spoilt")},
	})
	drained := m.moved(t)
	if err := testkit.OpenBodies(t, testkit.BodyStore(t)).Delete(t.Context(), m.objectOf(t, "to be lost")); err != nil {
		t.Fatal(err)
	}
	spoilt := m.objectOf(t, "to be spoilt")
	m.faults.When("the spoilt body", func(q *http.Request) bool { return q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, spoilt) },
		testkit.WrongBytes())

	r := m.scrubbed(t, m.Service, m.beginScrub(t, drained, ScrubBudget{}))
	bodies, _ := m.bodies(t)
	p := r.Scrub
	if r.Passed || !p.Covered || p.Corrupt != 1 || p.Missing != 1 || p.Unreachable != 0 || p.Bodies != bodies-2 {
		t.Errorf("the scrub is %+v", p)
	}
	want := []ScrubFinding{
		{"missing", "orders", "lost", "items", record.DigestOf([]byte("to be lost")), 10},
		{"corrupt", "orders", "spoilt", "items", record.DigestOf([]byte("to be spoilt")), 12},
	}
	if diff := cmp.Diff(want, p.FirstWrong); diff != "" {
		t.Errorf("findings (-want +got)\n%s", diff)
	}
	now := m.now(t, drained.ID)
	if now.State != Stopped || now.Stop.Category != VerificationFailed || now.Stop.Key != "lost" || now.Stop.From != Drained {
		t.Errorf("the migration is %s, %+v", now.State, now.Stop)
	}
}

func TestScrub_OfAClosedMigration_TellsAndStopsNothing(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.publishInto(t, "orders", "lost", "to be lost")
	verified := m.verified(t, m.moved(t).ID)
	closed, err := m.api.Close(t.Context(), planner, verified.Tenant, verified.ID, verified.PlanHash, "done")
	if err != nil {
		t.Fatal(err)
	}
	if err := testkit.OpenBodies(t, testkit.BodyStore(t)).Delete(t.Context(), m.objectOf(t, "to be lost")); err != nil {
		t.Fatal(err)
	}
	r := m.scrubbed(t, m.Service, m.beginScrub(t, closed, ScrubBudget{}))
	if r.Passed || r.Scrub.Missing != 1 || m.now(t, closed.ID).State != Closed {
		t.Errorf("the scrub is %+v, and the migration %s", r.Scrub, m.now(t, closed.ID).State)
	}
}

func (m *moving) publishInto(t testing.TB, collection, key, body string) {
	t.Helper()
	m.fill(t, collection, 0)
	m.publish(t, collection, record.Publication{
		Key: key, OperationID: key, Expect: record.Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte(body)},
	})
}

// A body that was replaced while it was being read isn't wrong, whatever became of
// its object.
func TestScrub_WhatIsPublishedMeanwhileIsNotWrong(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.publishInto(t, "orders", "k", "to be replaced")
	drained := m.moved(t)
	object := m.objectOf(t, "to be replaced")
	m.faults.When("the body", func(q *http.Request) bool { return q.Method == http.MethodGet && strings.HasSuffix(q.URL.Path, object) },
		func(q *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			m.publish(t, "orders", record.Publication{
				Key: "k", OperationID: "anew", Expect: record.Expectation{Revision: 1}, Bodies: map[string][]byte{"items": []byte("anew")},
			})
			if err := testkit.OpenBodies(t, testkit.BodyStore(t)).Delete(q.Context(), object); err != nil {
				t.Error(err)
			}
			return pass()
		})
	r := m.scrubbed(t, m.Service, m.beginScrub(t, drained, ScrubBudget{}))
	if p := r.Scrub; !r.Passed || p.Changed != 1 || p.Missing != 0 {
		t.Errorf("the scrub is %+v", p)
	}
}

func TestScrub_EndsWithItsBudget_AndTheNextGoesOn(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 40)
	m.fill(t, "invoices", 5)
	drained := m.moved(t)
	bodies, bytes := m.bodies(t)
	first := m.scrubbed(t, m.Service, m.beginScrub(t, drained, ScrubBudget{Bodies: 20}))
	if p := first.Scrub; first.Passed || p.Covered || p.Spent != SpentBodies || p.Bodies != 20 || p.OfBodies != bodies {
		t.Fatalf("the first is %+v", p)
	}
	second := m.scrubbed(t, m.Service, m.beginScrub(t, m.now(t, drained.ID), ScrubBudget{Bytes: 1 << 20}))
	if p := second.Scrub; second.Passed || p.Spent != SpentBytes || p.OwnBytes > 1<<20 || p.Bodies <= 20 || *p.Continues != first.ID {
		t.Fatalf("the second is %+v", p)
	}
	third := m.scrubbed(t, m.Service, m.beginScrub(t, m.now(t, drained.ID), ScrubBudget{}))
	if p := third.Scrub; !third.Passed || !p.Covered || p.Bodies != bodies || p.Bytes != bytes || *p.Continues != second.ID {
		t.Errorf("the third is %+v", p)
	}
	fresh := m.beginScrub(t, m.now(t, drained.ID), ScrubBudget{})
	if fresh.Scrub.Continues != nil || fresh.Scrub.Bodies != 0 {
		t.Errorf("behind one that covered all, another goes on: %+v", fresh.Scrub)
	}
}

func TestScrub_WhoseStoreIsAwayStaysWhereItIs(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 40)
	r := m.beginScrub(t, m.moved(t), ScrubBudget{})
	m.faults.AtRandom(1, 1, testkit.Refuse(http.StatusForbidden, "AccessDenied", 0))
	if ended, err := m.Scrub(t.Context(), r.Tenant, r.Migration, r.ID, time.Now().Add(time.Minute)); ended || domain.KindOf(err) != domain.KindUnavailable {
		t.Fatalf("without a store a slice came to %v, %v", ended, err)
	}
	m.faults.AtRandom(1, 0)
	if ended := m.scrubbed(t, m.Service, r); !ended.Passed {
		t.Errorf("with the store again it is %+v", ended.Scrub)
	}
}

func TestScrub_HasItsTime_AndAnotherEndsWhatNobodyWorkedOn(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 5)
	drained := m.moved(t)
	for _, budget := range []ScrubBudget{{Bodies: -1}, {Bytes: -1}, {Duration: -1}, {Duration: 31 * 24 * time.Hour}} {
		m.refused(t, "budget_invalid", drained.ID, func(ctx context.Context) error {
			_, err := m.api.BeginScrub(ctx, planner, drained.Tenant, drained.ID, drained.PlanHash, budget)
			return err
		})
	}
	late := m.beginScrub(t, drained, ScrubBudget{Duration: time.Nanosecond})
	next := m.beginScrub(t, m.now(t, drained.ID), ScrubBudget{Duration: time.Nanosecond})
	ended, err := m.api.ReportOf(t.Context(), late.Tenant, late.Migration, late.ID)
	if err != nil || ended.EndedAt.IsZero() || ended.Passed || ended.Scrub.Spent != SpentTime {
		t.Errorf("the late one is %+v, %v", ended, err)
	}
	if r := m.scrubbed(t, m.Service, next); r.Passed || r.Scrub.Spent != SpentTime || r.Scrub.Covered {
		t.Errorf("worked on late it is %+v", r.Scrub)
	}
	active := m.ask(t, RecordBodies)
	shown, _ := m.previewed(t, active)
	m.refused(t, "migration_state", shown.ID, func(ctx context.Context) error {
		_, err := m.api.BeginScrub(ctx, planner, shown.Tenant, shown.ID, shown.PlanHash, ScrubBudget{})
		return err
	})
}

// Who was paused with a page in hand comes back behind another, who has gone on.
func TestScrub_AWorkerThatComesLateSetsNothingBack(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 70)
	r := m.beginScrub(t, m.moved(t), ScrubBudget{})
	w, err := m.newScrubber(t.Context(), r.Tenant, r.Migration)
	if err != nil {
		t.Fatal(err)
	}
	first := r
	if err := w.page(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	next := first
	if err := w.page(t.Context(), &next); err != nil {
		t.Fatal(err)
	}
	for _, late := range []Report{r, first} {
		if kept, err := m.keepScrub(t.Context(), &late, *late.Scrub); kept || err != nil {
			t.Errorf("a late page of step %d is kept: %v, %v", late.Scrub.Step, kept, err)
		}
		if err := m.endScrub(t.Context(), &late); err != nil {
			t.Fatal(err)
		}
	}
	stands, err := m.api.ReportOf(t.Context(), r.Tenant, r.Migration, r.ID)
	if diff := cmp.Diff(next.Scrub, stands.Scrub); diff != "" || err != nil || !stands.EndedAt.IsZero() {
		t.Errorf("ended %v, %v (-want +got)\n%s", stands.EndedAt, err, diff)
	}
}
