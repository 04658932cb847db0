package migration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// aBody tells a request about a body by its method.
func aBody(method string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == method && strings.Contains(r.URL.Path, "/bodies/")
	}
}

// onBodies has the next requests about bodies meet faults.
func (m *moving) onBodies(method string, faults ...testkit.Fault) {
	m.faults.When(method+" of bodies", aBody(method), faults...)
}

// R1, R2, and what passes of R3: a run waits for what passes by itself.
func TestRun_OvercomesWhatPassesInTheStore(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	conflict, tooMany := testkit.Refuse(409, "ConditionalRequestConflict", 0), testkit.Refuse(429, "TooManyRequests", 0)
	slowDown := testkit.Refuse(503, "SlowDown", 0)
	for _, f := range []struct {
		name     string
		put, get []testkit.Fault
	}{
		{"the answer to an upload is lost", []testkit.Fault{testkit.LostAnswer()}, nil},
		{"an upload is lost", []testkit.Fault{testkit.LostRequest()}, nil},
		{"a gateway's error behind a good upload", []testkit.Fault{testkit.RefuseAfter(502, "BadGateway")}, nil},
		{"409 once", []testkit.Fault{conflict}, nil},
		{"429 on all", []testkit.Fault{tooMany}, []testkit.Fault{tooMany}},
		{"503 twice", []testkit.Fault{slowDown, slowDown}, []testkit.Fault{slowDown, slowDown}},
		{"the answer to a read is lost", nil, []testkit.Fault{testkit.LostAnswer()}},
		{"a read is cut at 60 %", nil, []testkit.Fault{testkit.CutAt(0.6)}},
		{"a read is short, with no length announced", nil, []testkit.Fault{testkit.ShortAnswer(0.6)}},
	} {
		for _, kind := range []Kind{RecordBodies, Rehydrate} {
			if kind == Rehydrate && f.get == nil {
				continue // the way back uploads nothing
			}
			t.Run(f.name+", "+string(kind), func(t *testing.T) {
				m := m.another(t, kind)
				m.fill(t, "orders", 2)
				before := m.question(t)
				active := m.active(t, kind)
				if kind == RecordBodies {
					m.onBodies("PUT", f.put...)
				}
				m.onBodies("GET", f.get...)
				if run := m.run(t, active); run.Outcome != OutcomeDrained {
					t.Errorf("the run is %+v", run)
				}
				m.unchanged(t, before)
			})
		}
	}
}

// R17.
func TestRun_FivePercentOfFailures_LeaveNothingUndone(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	for i, kind := range []Kind{RecordBodies, Rehydrate} {
		m := m.another(t, kind)
		m.fill(t, "orders", 40)
		before := m.question(t)
		active := m.active(t, kind)
		m.faults.AtRandom(uint64(7+i), 0.05, testkit.LostRequest(), testkit.LostAnswer(), testkit.Refuse(503, "SlowDown", 0),
			testkit.Refuse(409, "ConditionalRequestConflict", 0), testkit.CutAt(0.6), testkit.ShortAnswer(0.6), testkit.RefuseAfter(500, "InternalError"))
		run := m.run(t, active)
		m.faults.AtRandom(0, 0)
		deferred, err := m.api.DeferredOf(t.Context(), active.Tenant, active.ID)
		if err != nil || len(deferred) != 0 || run.Outcome != OutcomeDrained {
			t.Errorf("%s: the run is %+v, and %d sections are unresolved, %v", kind, run, len(deferred), err)
		}
		if at := m.total(t, active); at.Moved != 40 {
			t.Errorf("%s: the totals are %+v", kind, at)
		}
		m.unchanged(t, before)
	}
}

// bodyKey is where a body of a collection is.
func (m *moving) bodyKey(of record.Collection, body []byte) string {
	return fmt.Sprintf("tenants/%s/collections/%s/bodies/v1/sha256/%s", m.scope.Tenant, of.ID, record.DigestOf(body))
}

// R4: the row stays where it is, the migration names the record, and nothing
// overwrites what stands at the key.
func TestRun_WrongBytesAtADigestsKey_StopIt(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 7)
	right, wrong := []byte("the right one"), []byte("the wrong one")
	m.publish(t, "orders", record.Publication{
		Key: "mistaken", OperationID: "mistaken", Bodies: map[string][]byte{"items": right}, Expect: record.Expectation{Absent: true},
	})
	before := m.question(t)
	m.replace(t, m.bodyKey(c, right), wrong)
	active := m.active(t, RecordBodies)
	if run := m.run(t, active); run.Outcome != OutcomeStopped {
		t.Errorf("the run is %+v", run)
	}
	want := &Stop{From: Active, Category: ObjectCorrupt, Collection: "orders", Key: "mistaken", Section: "items", NextStep: nextSteps[ObjectCorrupt]}
	if diff := cmp.Diff(want, m.now(t, active.ID).Stop); diff != "" {
		t.Errorf("stop (-want +got)\n%s", diff)
	}
	if n := m.counted(t, `SELECT count(*) FROM sections_in_sql WHERE item_key = 'mistaken'`); n != 1 {
		t.Errorf("%d rows of the record are in SQL", n)
	}
	m.unchanged(t, before)
	bucket := testkit.OpenBodies(t, testkit.BodyStore(t))
	if _, err := bucket.Fetch(t.Context(), m.bodyKey(c, right), record.DigestOf(wrong), int64(len(wrong))); err != nil {
		t.Errorf("what stood at the key is gone: %v", err)
	}
	m.replace(t, m.bodyKey(c, right), nil)
	m.finish(t, active.ID)
	m.unchanged(t, before)
}

// R3 and R1 that don't pass: what isn't proven to be in the bucket doesn't leave SQL.
// The tries are bounded, the migration stops for a review, and goes on with an
// approval when the bucket answers.
func TestRun_ABucketThatDoesNotAnswer_StopsIt_AndItGoesOnWithAnApproval(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 3)
	before := m.question(t)
	active := m.active(t, RecordBodies)
	impatient := m.impatient(t)
	faults := []testkit.Fault{testkit.LostRequest(), testkit.LostAnswer(), testkit.CutAt(0.6), testkit.ShortAnswer(0.6), testkit.Refuse(503, "SlowDown", 0)}
	var met atomic.Int64
	m.faults.AtRandom(1, 1, func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if n := met.Add(1); aBody("PUT")(r) || aBody("GET")(r) {
			return faults[n%int64(len(faults))](r, pass)
		}
		return pass()
	})
	run := m.openRun(t, active)
	if ended, err := impatient.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(time.Minute)); !ended || err != nil {
		t.Errorf("the shift: %v, %v", ended, err)
	}
	stopped := m.now(t, active.ID)
	if outcome := m.lastRun(t, active.ID).Outcome; outcome != OutcomeStopped || stopped.State != Stopped || stopped.Stop.Category != BucketUnavailable {
		t.Errorf("the run is %s, and the migration %s for %+v", outcome, stopped.State, stopped.Stop)
	}
	if at := m.total(t, active); at.Moved != 0 || at.Passes != 0 {
		t.Errorf("the totals are %+v", at)
	}
	m.unchanged(t, before) // all of it is in SQL yet
	m.faults.AtRandom(0, 0)
	m.finish(t, active.ID)
	m.unchanged(t, before)
}

// impatient is a worker that asks the bucket once and no more.
func (m *moving) impatient(t testing.TB) *Service {
	t.Helper()
	s := m.faults.Through(testkit.BodyStore(t))
	s.MaxAttempts, s.Timeout = 1, 2*time.Second
	records := record.New(m.router, lease.New(m.router, testSecrets("server"), lease.Options{}), testkit.OpenBodies(t, s), record.Options{})
	return New(m.router, m.control, records, Options{Build: m.build, IDKey: []byte("ids")})
}

// A row that isn't its digest's is deferred and stops the migration. Mended, and its
// retry asked for, it moves.
func TestRun_ACorruptRow_MovesWhenItIsMendedAndRetried(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	m.fill(t, "orders", 8)
	before := m.question(t)
	spoil := func(from, to string) {
		for _, admin := range m.admin {
			_, err := admin.Exec(t.Context(), `UPDATE sections_in_sql SET content = convert_to(replace(convert_from(content, 'UTF8'), $1, $2), 'UTF8')
				WHERE item_key = 'key-0005' AND section = 'items'`, from, to)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	spoil("items of", "ITEMS of")
	active := m.active(t, RecordBodies)
	m.run(t, active)
	if now := m.now(t, active.ID); now.State != Stopped || now.Stop.Category != SourceDefect || now.Stop.Key != "key-0005" || now.Stop.Section != "items" {
		t.Errorf("the migration is %s for %+v", now.State, now.Stop)
	}
	deferred, err := m.api.DeferredOf(t.Context(), active.Tenant, active.ID)
	if err != nil || len(deferred) != 1 || deferred[0].Reason != record.DefectDigest {
		t.Fatalf("deferred: %+v, %v", deferred, err)
	}
	if body, err := m.api.records.Body(t.Context(), m.scope, "orders", "key-0005", "items"); domain.CodeOf(err) != "body_unavailable" {
		t.Errorf("it reads as %v, %v", body, err)
	}
	// Going on without a retry passes it over, and stops again.
	if err := m.resume(t.Context(), m.now(t, active.ID)); err != nil {
		t.Fatal(err)
	}
	if run := m.run(t, m.now(t, active.ID)); run.Outcome != OutcomeStopped || m.total(t, active).Moved != 7 {
		t.Errorf("the run is %+v, with %d moved", run, m.total(t, active).Moved)
	}
	spoil("ITEMS of", "items of")
	if _, err := m.api.RetryDeferred(t.Context(), planner, active.Tenant, active.ID, deferred[0].ID); err != nil {
		t.Fatal(err)
	}
	m.finish(t, active.ID)
	if n := m.left(t, "migration_deferred"); n != 0 {
		t.Errorf("%d sections are deferred", n)
	}
	m.unchanged(t, before)
}

// Every object that a migration leaves is one that something refers to, when nothing
// has failed.
func TestRun_LeavesNoObjectThatNothingRefersTo(t *testing.T) {
	t.Parallel()
	m := newMoving(t)
	c := m.fill(t, "orders", 10)
	active := m.active(t, RecordBodies)
	m.run(t, active)
	var want []string
	page, err := m.api.records.Records(t.Context(), m.scope, "orders", record.Filter{}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Records {
		for _, s := range r.Sections {
			if s.Live {
				want = append(want, s.Digest.String())
			}
		}
	}
	slices.Sort(want)
	prefix := fmt.Sprintf("tenants/%s/collections/%s/bodies/v1/sha256/", m.scope.Tenant, c.ID)
	objects, _, err := testkit.OpenBodies(t, testkit.BodyStore(t)).List(t.Context(), prefix, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, strings.TrimPrefix(o.Key, prefix))
	}
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("objects (-want +got)\n%s", diff)
	}
}
