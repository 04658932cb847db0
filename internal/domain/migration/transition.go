package migration

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Actor is who makes a transition: an operator, a tenant's principal, or Holdfast
// itself.
type Actor struct {
	ID   domain.PrincipalID // zero for Holdfast
	Name string
}

var holdfast = Actor{Name: "holdfast"}

func actorOf(scope tenancy.Scope) Actor { return Actor{scope.Principal, scope.Name} }

// Transition is one step of a migration, as it was recorded.
type Transition struct {
	Revision int64
	From, To State // From is "" for the first
	Act      string
	Actor    Actor
	Note     json.RawMessage
	At       time.Time
}

// sqlTransit takes a migration from one state at one revision to the next, and
// changes beside it what the transition is about. All of it was read at that
// revision.
const sqlTransit = `
UPDATE migrations m
   SET state = $5, revision = m.revision + 1, plan_hash = $6, former_hashes = $7, caps = $8, stop = $9, held_by = $10,
       envelope_hash = $11, changed_at = $12
 WHERE m.tenant_id = $1 AND m.migration_id = $2 AND m.state = $3 AND m.revision = $4
RETURNING ` + migrationColumns

const sqlRecordTransition = `
INSERT INTO migration_transitions (tenant_id, migration_id, revision, from_state, to_state, act, actor_id, actor, note, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`

// step is a transition to be made. One to the same state changes what belongs to
// the migration.
type step struct {
	act  string // "preview", "approve", …
	to   State
	by   Actor
	note any // a value of json fields; nil for none

	plan       *Hash // a new one; nil leaves the former
	supersedes bool  // it carries the former over to another build
	caps       *Caps // likewise
	stop       *Stop // why; for a transition to Stopped
	envelope   *Hash // a change of the build begins, or with a zero hash ends
}

// transitTx makes a transition from what was read.
//
// Errors: conflict migration_state; errMoved when somebody else was faster.
func transitTx(ctx context.Context, tx pgx.Tx, from *Migration, s step) (Migration, error) {
	if from.State != s.to && !from.State.MayBecome(s.to) {
		return Migration{}, errState(from.State)
	}
	return transitionTx(ctx, tx, from, s)
}

// transitionTx is transitTx without the table of states, for what a restore has to
// put right.
func transitionTx(ctx context.Context, tx pgx.Tx, from *Migration, s step) (Migration, error) {
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return Migration{}, err
	}
	next := s.applied(from)
	rows, _ := tx.Query(ctx, sqlTransit, from.Tenant, from.ID, from.State, from.Revision,
		next.State, hashOrNil(next.PlanHash), hashes(next.Former), jsonOf(next.Caps), jsonOf(next.Stop), textOrNil(next.HeldBy), hashOrNil(next.Envelope), now)
	moved, err := pgx.CollectExactlyOneRow(rows, scanMigration)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Migration{}, errMoved
	case err != nil:
		return Migration{}, err
	}
	return moved, recordTx(ctx, tx, &moved, from.State, s, now)
}

// transit makes a transition in a transaction of its own.
func (s *Service) transit(ctx context.Context, from *Migration, st step) (next Migration, err error) {
	err = s.control.ControlTx(ctx, from.Tenant, func(tx pgx.Tx) error {
		next, err = transitTx(ctx, tx, from, st)
		return err
	})
	return next, err
}

// applied is what a migration is behind a step.
func (s *step) applied(from *Migration) Migration {
	next := *from
	next.State = s.to
	if s.plan != nil {
		if s.supersedes {
			next.Former = append(slices.Clone(from.Former), from.PlanHash)
		}
		next.PlanHash = *s.plan
	}
	if s.caps != nil {
		next.Caps = s.caps
	}
	if s.envelope != nil {
		next.Envelope = *s.envelope
	}
	switch {
	case s.to != Stopped:
		next.Stop = nil
	case s.stop != nil:
		next.Stop = s.stop
	}
	switch {
	case s.to == Paused && from.State != Paused:
		next.HeldBy = s.by.Name
	case s.to != Paused:
		next.HeldBy = ""
	}
	return next
}

func recordTx(ctx context.Context, tx pgx.Tx, m *Migration, from State, s step, now time.Time) error {
	note := json.RawMessage("{}")
	if s.note != nil {
		text, err := json.Marshal(s.note)
		if err != nil {
			return err
		}
		note = text
	}
	var actor *domain.PrincipalID
	if !s.by.ID.IsZero() {
		actor = &s.by.ID
	}
	_, err := tx.Exec(ctx, sqlRecordTransition, m.Tenant, m.ID, m.Revision, textOrNil(string(from)), m.State, s.act, actor, s.by.Name, note, now)
	return err
}

const sqlTransitions = `
SELECT t.revision, coalesce(t.from_state, ''), t.to_state, t.act, t.actor_id, t.actor, t.note, t.at
  FROM migration_transitions t WHERE t.tenant_id = $1 AND t.migration_id = $2 ORDER BY t.revision`

// Transitions are all that a migration has made, the first first.
//
// Errors: unavailable.
func (s *Service) Transitions(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) (all []Transition, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, sqlTransitions, tenant, id)
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t Transition, err error) {
			var actor *domain.PrincipalID
			err = row.Scan(&t.Revision, &t.From, &t.To, &t.Act, &actor, &t.Actor.Name, &t.Note, &t.At)
			if actor != nil {
				t.Actor.ID = *actor
			}
			t.At = t.At.UTC()
			return t, err
		})
		return err
	})
	return all, err
}

// jsonOf is a value as json, and NULL for none.
func jsonOf[T any](v *T) any {
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts and numbers always marshal
	}
	return json.RawMessage(text)
}

var errMoved = domain.Conflict("migration_moved",
	"The migration has moved on since it was looked at. Look again, and decide anew.")

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func hashes(all []Hash) [][]byte {
	columns := make([][]byte, len(all))
	for i := range all {
		columns[i] = all[i][:]
	}
	return columns
}
