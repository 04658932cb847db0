package migration

import (
	"context"
	"encoding/json"
	"errors"
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
	Actor    Actor
	Note     json.RawMessage
	At       time.Time
}

// sqlTransit takes a migration from one state at one revision to the next, and
// changes beside it what the transition is about: NULL leaves a value as it is.
const sqlTransit = `
UPDATE migrations m
   SET state = $5, revision = m.revision + 1, plan_hash = coalesce($6, m.plan_hash), caps = coalesce($7, m.caps),
       stop_category = $8, stop_detail = $9, held_by = $10, changed_at = $11
 WHERE m.tenant_id = $1 AND m.migration_id = $2 AND m.state = $3 AND m.revision = $4
RETURNING ` + migrationColumns

const sqlRecordTransition = `
INSERT INTO migration_transitions (tenant_id, migration_id, revision, from_state, to_state, actor_id, actor, note, at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

// step is a transition to be made.
type step struct {
	to     State
	by     Actor
	note   any   // a struct of json fields
	plan   *Hash // a new one
	caps   *Caps // likewise
	stop   *Stop
	heldBy string
}

// transitTx makes a transition from what was read; errMoved when somebody else
// was faster.
func transitTx(ctx context.Context, tx pgx.Tx, from *Migration, s step) (Migration, error) {
	if !from.State.MayBecome(s.to) {
		return Migration{}, errState(from.State)
	}
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
		return Migration{}, err
	}
	var plan []byte
	if s.plan != nil {
		plan = s.plan[:]
	}
	var category, heldBy *string
	if s.stop != nil {
		category = &s.stop.Category
	}
	if s.heldBy != "" {
		heldBy = &s.heldBy
	}
	rows, _ := tx.Query(ctx, sqlTransit, from.Tenant, from.ID, from.State, from.Revision, s.to, plan, jsonOf(s.caps), category, jsonOf(s.stop), heldBy, now)
	moved, err := pgx.CollectExactlyOneRow(rows, scanMigration)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Migration{}, errMoved
	case err != nil:
		return Migration{}, err
	}
	return moved, recordTx(ctx, tx, &moved, from.State, s, now)
}

func recordTx(ctx context.Context, tx pgx.Tx, m *Migration, from State, s step, now time.Time) error {
	note, err := json.Marshal(s.note)
	if err != nil {
		return err
	}
	if s.note == nil {
		note = []byte("{}")
	}
	var actor *domain.PrincipalID
	if !s.by.ID.IsZero() {
		actor = &s.by.ID
	}
	var before *State
	if from != "" {
		before = &from
	}
	_, err = tx.Exec(ctx, sqlRecordTransition, m.Tenant, m.ID, m.Revision, before, m.State, actor, s.by.Name, json.RawMessage(note), now)
	return err
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
