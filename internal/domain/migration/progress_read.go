package migration

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// maxLeft is up to how many sections of a collection are counted.
const maxLeft = 250_000

// What is left in the format that a migration leaves, by collection.
const (
	sqlLeftBySQL   = leftOfEach + `sections_in_sql` + leftInTable
	sqlLeftByStore = leftOfEach + `sections_in_store` + leftInTable
	leftOfEach     = `
SELECT m.collection_id, l.records, l.sections
  FROM migration_checkpoints m
 CROSS JOIN LATERAL (SELECT count(DISTINCT s.item_key) AS records, count(*) AS sections
                       FROM (SELECT s.item_key FROM `
	leftInTable = ` s
                              WHERE s.tenant_id = $1 AND s.number = m.number AND s.collection_id = m.collection_id
                              ORDER BY s.item_key LIMIT $4) s) l
 WHERE m.tenant_id = $1 AND m.number = ANY ($2) AND m.migration_id = $3 AND m.drained_at IS NULL`
)

// What of that is deferred: the sections, and the records of which none is to be
// tried again.
const (
	sqlDeferredBySQL   = deferredOfEach + stillInSQL + deferredAddedUp
	sqlDeferredByStore = deferredOfEach + stillInStore + deferredAddedUp
	deferredOfEach     = `
SELECT m.collection_id, d.sections, d.passed_over
  FROM migration_checkpoints m
 CROSS JOIN LATERAL (SELECT count(*) AS sections, count(DISTINCT d.item_key) - count(DISTINCT d.item_key) FILTER (WHERE d.retry) AS passed_over
                       FROM (`
	deferredAddedUp = `) d) d
 WHERE m.tenant_id = $1 AND m.number = ANY ($2) AND m.migration_id = $3 AND m.drained_at IS NULL`
)

// Progress tells where a migration stands. It reads each database once, one moment
// apart from the other, and then the control database.
//
// Errors: unavailable.
func (s *Service) Progress(ctx context.Context, m Migration) (Progress, error) {
	p := Progress{PausedBy: m.HeldBy}
	var err error
	if p.Collections, err = s.progressOfEach(ctx, &m, maxLeft); err != nil {
		return Progress{}, err
	}
	p.addUp()
	if m.State == Activating {
		if p.Awaited, err = s.awaited(ctx, &m, p.Collections); err != nil {
			return Progress{}, err
		}
	}
	plan, err := s.progressOfControl(ctx, &m, &p)
	if err != nil {
		return Progress{}, err
	}
	p.Remaining = p.remaining()
	p.Reasons, p.Next = p.reasons(&m, plan), p.next(&m)
	return p, nil
}

// progressOfEach gives the lines of the collections that have accepted the plan, by
// name. most is up to how many sections of each are counted.
func (s *Service) progressOfEach(ctx context.Context, m *Migration, most int64) ([]CollectionProgress, error) {
	left, deferred := sqlLeftBySQL, sqlDeferredBySQL
	if m.Kind == Rehydrate {
		left, deferred = sqlLeftByStore, sqlDeferredByStore
	}
	pages := make([][]CollectionProgress, len(s.router.Databases()))
	err := s.everywhere(ctx, s.view(m.Tenant), func(i int, db *postgres.Database, tx *tenancy.Tx) {
		numbers := numbersOf(db)
		tx.Queue(sqlCheckpoints, numbers, m.ID).Query(func(rows pgx.Rows) (err error) {
			pages[i], err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (CollectionProgress, error) {
				c, err := scanCheckpoint(row)
				return CollectionProgress{Checkpoint: c, Left: Left{Whole: true}}, err
			})
			return err
		})
		tx.Queue(left, numbers, m.ID, most).Query(func(rows pgx.Rows) error {
			return eachOf(rows, pages[i], func(c *CollectionProgress, records, sections int64) {
				c.Left = Left{records, sections, sections < most}
			})
		})
		tx.Queue(deferred, numbers, m.ID, most).Query(func(rows pgx.Rows) error {
			return eachOf(rows, pages[i], func(c *CollectionProgress, sections, records int64) {
				c.Deferred, c.passedOver = sections, records
			})
		})
	})
	return slices.SortedFunc(slices.Values(slices.Concat(pages...)), func(a, b CollectionProgress) int {
		return strings.Compare(a.Collection, b.Collection)
	}), err
}

// eachOf reads two numbers of each collection that has them.
func eachOf(rows pgx.Rows, all []CollectionProgress, take func(c *CollectionProgress, a, b int64)) error {
	byID := make(map[domain.CollectionID]*CollectionProgress, len(all))
	for i := range all {
		byID[all[i].CollectionID] = &all[i]
	}
	var id domain.CollectionID
	var a, b int64
	_, err := pgx.ForEachRow(rows, []any{&id, &a, &b}, func() error {
		if c := byID[id]; c != nil { // else it has accepted the plan since
			take(c, a, b)
		}
		return nil
	})
	return err
}

// addUp makes the totals of the lines.
func (p *Progress) addUp() {
	p.Left.Whole = true
	checkpoints := make([]Checkpoint, 0, len(p.Collections))
	for i := range p.Collections {
		c := &p.Collections[i]
		checkpoints = append(checkpoints, c.Checkpoint)
		p.Left.add(c.Left)
		p.Deferred += c.Deferred
	}
	p.Total = totalOf(checkpoints)
}

// awaited are the covered collections that haven't accepted the plan, by name.
func (s *Service) awaited(ctx context.Context, m *Migration, accepted []CollectionProgress) (names []string, err error) {
	covered, err := s.covered(ctx, m)
	for i := range covered {
		_, has := slices.BinarySearchFunc(accepted, covered[i].Name, func(c CollectionProgress, name string) int {
			return strings.Compare(c.Collection, name)
		})
		if !has {
			names = append(names, covered[i].Name)
		}
	}
	slices.Sort(names)
	return names, err
}

const (
	sqlOpenRun  = `SELECT ` + runColumns + ` FROM migration_runs r WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.ended_at IS NULL`
	sqlPlanCaps = `SELECT p.packet::json -> 'caps' FROM migration_plans p WHERE p.tenant_id = $1 AND p.migration_id = $2 AND p.plan_hash = $3`
)

// progressOfControl reads the time, the open run, the paces, and the plan's caps;
// nil without a plan.
func (s *Service) progressOfControl(ctx context.Context, m *Migration, p *Progress) (plan *Caps, err error) {
	err = s.control.ControlRead(ctx, m.Tenant, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`SELECT clock_timestamp()`).QueryRow(func(row pgx.Row) error { return row.Scan(&p.At) })
		batch.Queue(sqlOpenRun, m.Tenant, m.ID).Query(func(rows pgx.Rows) error {
			open, err := pgx.CollectRows(rows, scanRun)
			if len(open) > 0 {
				p.Run = &open[0]
			}
			return err
		})
		batch.Queue(sqlPlanCaps, m.Tenant, m.ID, m.PlanHash[:]).Query(func(rows pgx.Rows) error {
			var caps json.RawMessage
			_, err := pgx.ForEachRow(rows, []any{&caps}, func() error {
				plan = &Caps{}
				return json.Unmarshal(caps, plan)
			})
			return err
		})
		queuePace(batch, m, &p.Total, 5*time.Minute, &p.Pace5)
		queuePace(batch, m, &p.Total, time.Hour, &p.Pace60)
		return tx.SendBatch(ctx, batch).Close()
	})
	p.At = p.At.UTC()
	return plan, err
}
