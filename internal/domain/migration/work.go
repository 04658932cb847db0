package migration

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// Work does a run for a while: until a moment, or until ctx ends, or until the run
// does, and then tells so. It goes collection by collection, from where each stands.
// Any number may be at one run: of each pass one commits.
//
// What a run ends for is noted, and no error: an error is of what kept it from
// going on, or from noting that, and the run stays open.
func (s *Service) Work(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, run domain.RunID, until time.Time) (ended bool, err error) {
	w := &shift{Service: s, until: until}
	if err := w.look(ctx, tenant, id, run); err != nil || !w.run.EndedAt.IsZero() {
		return err == nil, err
	}
	if w.run.Build != s.build {
		return false, errOtherBuild
	}
	if err := w.begin(ctx); err != nil {
		return w.fail(ctx, err, "")
	}
	for _, c := range w.at {
		if !c.DrainedAt.IsZero() {
			continue
		}
		came, err := s.walk(ctx, tenant, c.number, c.CollectionID, w.may)
		switch {
		case err != nil:
			return w.fail(ctx, err, c.Collection)
		case came == walkUnresolved:
			w.unresolved = c.Collection
		case came != walkDrained:
			return w.handOn(ctx)
		}
	}
	return w.conclude(ctx)
}

// shift is one stretch of work on a run, by one worker.
type shift struct {
	*Service
	m          Migration
	run        Run
	at         []Checkpoint // as they were when the shift began
	until      time.Time
	made       int64 // passes that it began
	looked     time.Time
	told       time.Time // that somebody is at it
	sampled    time.Time
	over       bool   // the run is, or the migration isn't active
	unresolved string // a collection of which only what no pass can move is left; "" for none
	caps       record.Caps
}

const sqlRun = `SELECT ` + runColumns + `, r.deadline <= clock_timestamp() FROM migration_runs r
 WHERE r.tenant_id = $1 AND r.migration_id = $2 AND r.run_id = $3`

// look reads where the run and its migration are.
func (w *shift) look(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, run domain.RunID) error {
	var late bool
	err := w.control.ControlRead(ctx, tenant, func(tx pgx.Tx) (err error) {
		if w.m, err = migrationTx(ctx, tx, tenant, id); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, sqlRun, tenant, id, run)
		w.run, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (Run, error) {
			return scanRun(rowAnd{row, &late})
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return errNoRun
		}
		return err
	})
	if err != nil {
		return err
	}
	w.looked = time.Now()
	w.over = late || !w.run.EndedAt.IsZero() || w.m.State != Active
	if c := w.m.Caps; c != nil {
		w.caps = record.Caps{Inspected: c.Inspected, Records: c.Records, Bytes: c.Bytes, InFlight: c.InFlight}
	}
	return nil
}

// rowAnd scans a column more than who scans it knows of.
type rowAnd struct {
	pgx.CollectableRow
	behind any
}

func (r rowAnd) Scan(into ...any) error { return r.CollectableRow.Scan(append(into, r.behind)...) }

// begin readies the shift. What may pass is waited for, as long as before a pass: a
// lock or a lost connection is nothing to review.
func (w *shift) begin(ctx context.Context) error {
	if w.over {
		return nil
	}
	for tries := 0; ; tries++ {
		err := w.ready(ctx)
		if !passing(err) || tries == maxRetries || ctx.Err() != nil {
			return err
		}
		if err := pause(ctx, tries); err != nil {
			return err
		}
	}
}

// ready holds the plan to what is so now, and lets go of checkpoints that a
// resumption, interrupted, has left held.
func (w *shift) ready(ctx context.Context) error {
	_, p, err := w.standing(ctx, w.m.Tenant, w.m.ID, w.m.PlanHash)
	if err != nil {
		return err
	}
	if err := w.demandRunnable(ctx, &w.m, &p); err != nil {
		return err
	}
	if err := w.hold(ctx, &w.m); err != nil {
		return err
	}
	w.at, err = w.checkpoints(ctx, &w.m)
	return err
}

// pace is how often a worker looks whether its run may go on.
const pace = time.Second

// may tells a walk whether another pass may begin, and within which caps. It looks
// each second whether the run is over, and at the caps.
func (w *shift) may(ctx context.Context) (record.Caps, bool) {
	if ctx.Err() != nil || time.Now().After(w.until) || w.passes() >= RunPasses {
		return record.Caps{}, false
	}
	if time.Since(w.looked) > pace {
		if err := w.look(ctx, w.m.Tenant, w.m.ID, w.run.ID); err != nil {
			return record.Caps{}, false // the next shift finds out why
		}
		w.tell(ctx)
	}
	if w.over {
		return record.Caps{}, false
	}
	w.made++
	return w.caps, true
}

// A worker tells every few seconds that it is at a run, and notes the pace.
const (
	tellEvery   = 5 * time.Second
	sampleEvery = 15 * time.Second
)

// tell notes that somebody is at the run, and how far the migration is. A note that
// is lost lets another worker join, or makes the pace coarser, and nothing else.
func (w *shift) tell(ctx context.Context) {
	if time.Since(w.told) < tellEvery {
		return
	}
	w.told = time.Now()
	at, err := w.checkpoints(ctx, &w.m)
	if err == nil {
		w.at, w.made = at, 0 // what others did counts too
		err = w.control.ControlTx(ctx, w.m.Tenant, func(tx pgx.Tx) error {
			return noteRunTx(ctx, tx, &w.run, passesOf(at)-w.run.before, "")
		})
	}
	if err == nil && time.Since(w.sampled) >= sampleEvery {
		w.sampled = w.told
		err = w.sample(ctx, &w.m, totalOf(at))
	}
	if err != nil {
		w.log.WarnContext(ctx, "how far a run is wasn't noted", "tenant_id", w.m.Tenant, "migration_id", w.m.ID, "error", err)
	}
}

// passes are those of the run, as far as this shift knows: others may be at it.
func (w *shift) passes() int64 { return passesOf(w.at) - w.run.before + w.made }
