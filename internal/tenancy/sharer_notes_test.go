package tenancy_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/trace/noop"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// noting is the decision to leave a note.
type noting struct {
	number domain.Number
	text   string

	left string // the note as the database has it
}

// leaveNotes decides on the real database, in one transaction.
func leaveNotes(ctx context.Context, db *postgres.Database, tenant domain.TenantID, all []*noting) error {
	e := tenancy.Entry{Tenant: tenant, Purpose: tenancy.Serve}
	numbers := map[domain.Number]bool{}
	for _, d := range all {
		d.left = ""
		if !numbers[d.number] {
			numbers[d.number] = true
			e.Numbers = append(e.Numbers, d.number)
		}
	}
	return tenancy.Run(ctx, db, e, func(_ context.Context, tx *tenancy.Tx) error {
		for _, d := range all {
			tx.Queue(sqlWriteNote+` RETURNING text`, int16(d.number), d.text).QueryRow(scanInto(&d.left))
		}
		return nil
	})
}

func newNoteSharer() *tenancy.Sharer[noting] {
	return tenancy.NewSharer("test", noop.NewTracerProvider().Tracer(""), leaveNotes)
}

// The decisions of one call share one transaction at first, so what fails it is
// sure to have neighbours.
func TestSharer_OnADatabase_AFailureIsItsOwnDecisionsAlone(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	n.exec(t, `UPDATE number_gates SET state = 'closed' WHERE number = 9`)
	s := newNoteSharer()
	n.expectNeighboursUnharmed(t, s, noting{number: 7, text: "poison"}, func(err error) { wantState(t, err, "23514") })
	n.expectNeighboursUnharmed(t, s, noting{number: 9, text: "kept out"}, func(err error) {
		wantCode(t, err, domain.KindUnavailable, "partition_unavailable")
	})
}

func (n *notes) expectNeighboursUnharmed(t *testing.T, s *tenancy.Sharer[noting], failing noting, check func(error)) {
	t.Helper()
	n.exec(t, `DELETE FROM notes`)
	before, after := noting{number: 7, text: "before"}, noting{number: 8, text: "after"}
	check(s.Do(t.Context(), n.db, n.tenant, &before, &failing, &after))
	if before.left != "before" || failing.left != "" || after.left != "after" {
		t.Errorf("beside %q: the answers are %q, %q, %q", failing.text, before.left, failing.left, after.left)
	}
	if diff := cmp.Diff([]string{"after", "before"}, n.written(t)); diff != "" {
		t.Errorf("beside %q: notes (-want +got)\n%s", failing.text, diff)
	}
}

func TestSharer_OnADatabaseThatIsDown_EveryCallerIsTold(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	s := newNoteSharer()
	n.Proxy("data1").Refuse()
	n.Proxy("data1").CutAll()
	n.db.Pool.Reset() // nobody finds a connection that died
	_, errs := parallel(t.Context(), 20, func(ctx context.Context, i int) (struct{}, error) {
		return struct{}{}, s.Do(ctx, n.db, n.tenant, &noting{number: 7, text: fmt.Sprint(i)})
	})
	for _, err := range errs {
		wantCode(t, err, domain.KindUnavailable, "database_unavailable")
	}
	n.Proxy("data1").Accept()
	must(t, s.Do(t.Context(), n.db, n.tenant, &noting{number: 7, text: "back"}))
	if diff := cmp.Diff([]string{"back"}, n.written(t)); diff != "" {
		t.Errorf("notes (-want +got)\n%s", diff)
	}
}

func TestSharer_OnADatabase_ManyCallersOfManyTenants_EachGetTheirOwn(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	tenants := []domain.TenantID{n.tenant, n.newTenant(t), n.newTenant(t)}
	s := newNoteSharer()
	const callers, calls = 24, 12
	_, errs := parallel(t.Context(), callers, func(ctx context.Context, caller int) (struct{}, error) {
		var all error
		for call := range calls {
			tenant := (caller + call) % len(tenants)
			good := noting{number: domain.Number(call), text: fmt.Sprintf("%d's %d of %d", tenant, call, caller)}
			if err := s.Do(ctx, n.db, tenants[tenant], &good); err != nil || good.left != good.text {
				all = errors.Join(all, fmt.Errorf("%q got %q, %v", good.text, good.left, err))
			}
			if call%4 > 0 {
				continue
			}
			bad := noting{number: domain.Number(call), text: "poison"}
			if err := s.Do(ctx, n.db, tenants[tenant], &bad); err == nil || bad.left != "" {
				all = errors.Join(all, fmt.Errorf("poison got %q and no error", bad.left))
			}
		}
		return struct{}{}, all
	})
	must(t, errors.Join(errs...))
	strangers := rows(t, n.admin, pgx.RowTo[string], `SELECT text FROM notes WHERE NOT starts_with(text,
		CASE tenant_id WHEN $1 THEN '0' WHEN $2 THEN '1' ELSE '2' END)`, tenants[0], tenants[1])
	if len(strangers) > 0 || len(n.written(t)) != callers*calls {
		t.Errorf("%d notes, want %d; of another tenant than they say: %q", len(n.written(t)), callers*calls, strangers)
	}
}

// Whatever arrives in whatever order, and whichever decisions poison their
// transaction: a call fails if and only if one of its own decisions does, and
// all its others are answered with their own answers.
func TestSharer_AnswersAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		const poison = 13
		calls := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(1, 40), 0, 6), 1, 40).Draw(rt, "calls")
		d := &deciders{refuse: func(asked []int) error {
			for _, a := range asked {
				if a == poison {
					return errPoison
				}
			}
			return nil
		}}
		s := newSharer(d)
		db, tenants := &postgres.Database{}, [2]domain.TenantID{1: {1}}
		questions, errs := make([][]*question, len(calls)), make([]error, len(calls))
		var all sync.WaitGroup
		for i, asked := range calls {
			for _, a := range asked {
				questions[i] = append(questions[i], &question{asked: a})
			}
			all.Go(func() { errs[i] = s.Do(context.Background(), db, tenants[i%2], questions[i]...) })
		}
		all.Wait()
		for i := range calls {
			var poisoned bool
			for _, q := range questions[i] {
				want := 2 * q.asked
				if q.asked == poison {
					poisoned, want = true, 0
				}
				if q.answered != want {
					rt.Errorf("%d was answered with %d", q.asked, q.answered)
				}
			}
			if errors.Is(errs[i], errPoison) != poisoned || (errs[i] != nil) != poisoned {
				rt.Errorf("%v got %v", calls[i], errs[i])
			}
		}
	})
}
