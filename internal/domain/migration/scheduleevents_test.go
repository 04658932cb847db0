package migration

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// schedule is one migration to which things happen.
type schedule struct {
	*moving
	second   *Service
	all      *mortals
	bucket   objectstore.Settings
	kind     Kind
	of       Migration
	before   told
	receipts []record.Receipt
}

// happens are the things that can. Each leaves the migration in some state of its
// own, and none is in vain: what a state doesn't admit is done another way.
var happens = map[string]func(s *schedule, t *testing.T, n int){
	"publish":        (*schedule).change,
	"pass by one":    func(s *schedule, t *testing.T, _ int) { s.pass(t, s.Service) },
	"pass by two":    func(s *schedule, t *testing.T, _ int) { s.pass(t, s.second) },
	"shift by both":  func(s *schedule, t *testing.T, _ int) { s.both(t) },
	"pause":          func(s *schedule, t *testing.T, _ int) { s.pauseIt(t) },
	"go on":          func(s *schedule, t *testing.T, _ int) { s.goOn(t) },
	"crash":          func(s *schedule, t *testing.T, n int) { s.mortal(t, &life{at: 1 + n%120, dies: true}) },
	"lost answer":    func(s *schedule, t *testing.T, n int) { s.mortal(t, &life{at: 1 + n%120}) },
	"store fault":    (*schedule).storeFaults,
	"deadlock":       func(s *schedule, t *testing.T, _ int) { s.deadlock(t) },
	"lifecycle rule": func(s *schedule, t *testing.T, _ int) { s.rule(t) },
	"spoilt row":     (*schedule).spoilt,
}

// change publishes a record anew, or a new one.
func (s *schedule) change(t *testing.T, n int) {
	key := fmt.Sprintf("key-%04d", n%10)
	s.receipts = append(s.receipts, s.publish(t, "orders", record.Publication{
		Key: key, OperationID: fmt.Sprint("change-", len(s.receipts)), Bodies: map[string][]byte{"items": fmt.Appendf(nil, "change %d of %s", len(s.receipts), key)},
		Expect: record.Expectation{Fence: &record.Fence{Key: key, Revision: int64(len(s.receipts) + 1)}},
	}))
}

// running is the run that is open, and whether there may be one.
func (s *schedule) running(t *testing.T) (Run, bool) {
	t.Helper()
	now := s.now(t, s.of.ID)
	if now.State != Active {
		return Run{}, false
	}
	return s.openRun(t, now), true
}

func (s *schedule) pass(t *testing.T, worker *Service) {
	if _, ok := s.running(t); !ok {
		return
	}
	c := s.at(t, s.of)[0]
	if _, err := worker.walk(t.Context(), s.scope.Tenant, c.number, c.CollectionID, once()); err != nil {
		t.Errorf("a pass: %v", err)
	}
}

// shift is a short one.
func (s *schedule) shift(t *testing.T, worker *Service, run Run) {
	if _, err := worker.Work(t.Context(), run.Tenant, run.Migration, run.ID, time.Now().Add(20*time.Millisecond)); err != nil {
		t.Errorf("a shift: %v", err)
	}
}

func (s *schedule) both(t *testing.T) {
	run, ok := s.running(t)
	if !ok {
		return
	}
	var workers sync.WaitGroup
	for _, worker := range []*Service{s.Service, s.second} {
		workers.Go(func() { s.shift(t, worker, run) })
	}
	workers.Wait()
}

func (s *schedule) pauseIt(t *testing.T) {
	_, err := s.api.Pause(t.Context(), planner, s.of.Tenant, s.of.ID, s.of.PlanHash)
	if err != nil && domain.CodeOf(err) != "migration_state" {
		t.Errorf("pause: %v", err)
	}
}

// goOn resumes, with an approval where one is due.
func (s *schedule) goOn(t *testing.T) {
	now := s.now(t, s.of.ID)
	if now.State == Stopped {
		if _, err := s.api.Approve(t.Context(), approver, now.Tenant, now.ID, now.PlanHash); err != nil {
			t.Errorf("approve: %v", err)
		}
	}
	if now.State == Stopped || now.State == Paused {
		if _, err := s.api.Resume(t.Context(), planner, now.Tenant, now.ID, now.PlanHash); err != nil {
			t.Errorf("resume: %v", err)
		}
	}
}

// mortal has a worker to which something happens work.
func (s *schedule) mortal(t *testing.T, l *life) {
	run, ok := s.running(t)
	if !ok {
		return
	}
	_, worker, ctx := s.all.spawn(t, l)
	// What it comes to nobody hears.
	_, _ = worker.Work(ctx, run.Tenant, run.Migration, run.ID, time.Now().Add(time.Second))
	s.awaitSilence(t)
}

func (s *schedule) storeFaults(t *testing.T, n int) {
	run, ok := s.running(t)
	if !ok {
		return
	}
	s.faults.AtRandom(uint64(n), 0.3, testkit.LostRequest(), testkit.LostAnswer(), testkit.Refuse(503, "SlowDown", 0), testkit.CutAt(0.6), testkit.ShortAnswer(0.6))
	s.shift(t, s.Service, run)
	s.faults.AtRandom(0, 0)
}

// deadlock has another session take a pass's locks in the other order, or keep a
// shift waiting that has none yet.
func (s *schedule) deadlock(t *testing.T) {
	run, ok := s.running(t)
	if !ok {
		return
	}
	tx, err := s.admin[s.router.Database(record.NumberOf("orders")).Name].Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	lock := func(table string) error {
		_, err := tx.Exec(t.Context(), `SELECT FROM `+table+` WHERE tenant_id = $1 FOR UPDATE`, s.scope.Tenant)
		return err
	}
	if _, err := tx.Exec(t.Context(), `SET LOCAL deadlock_timeout = '1h'`); err != nil {
		t.Fatal(err)
	}
	if err := lock("migration_checkpoints"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.shift(t, s.Service, run)
	}()
	awaitBlocked(t, tx, done)
	if err := lock("collections"); err != nil {
		t.Errorf("the other session was to win: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	<-done
}

// rule has a lifecycle rule appear: the way into the bucket stops by it, and the way
// out of it goes on all the faster.
func (s *schedule) rule(t *testing.T) {
	run, ok := s.running(t)
	if !ok {
		return
	}
	testkit.SetLifecycle(t, s.bucket, testkit.ExpireBelow("tenants/"))
	moved := s.total(t, s.of).Moved
	s.shift(t, s.Service, run)
	testkit.SetLifecycle(t, s.bucket)
	if now := s.now(t, s.of.ID); s.kind == RecordBodies && (now.State != Stopped || now.Stop.Category != LifecycleUnsafe || s.total(t, s.of).Moved != moved) {
		t.Errorf("with a rule that can delete bodies the migration is %s for %+v", now.State, now.Stop)
	}
}

// spoilt has a row in SQL not be what it says for a while, in which a run comes by.
// It is mended and tried again, or published anew.
func (s *schedule) spoilt(t *testing.T, n int) {
	run, ok := s.running(t)
	if !ok || s.kind != RecordBodies {
		return
	}
	key := fmt.Sprintf("key-%04d", n%8)
	spoil := func() {
		for _, admin := range s.admin {
			_, err := admin.Exec(t.Context(), `UPDATE sections_in_sql SET content = set_byte(content, 0, get_byte(content, 0) # 255)
				WHERE tenant_id = $1 AND item_key = $2 AND section = 'items' AND live`, s.scope.Tenant, key)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	spoil()
	s.worked(t, s.Service, run)
	deferred, err := s.api.DeferredOf(t.Context(), s.of.Tenant, s.of.ID)
	if err != nil {
		t.Fatal(err)
	}
	if n%2 == 0 && len(deferred) > 0 {
		s.change(t, n%8)
		return
	}
	spoil() // back
	for _, d := range deferred {
		if _, err := s.api.RetryDeferred(t.Context(), planner, s.of.Tenant, s.of.ID, d.ID); err != nil {
			t.Errorf("retry: %v", err)
		}
	}
}
