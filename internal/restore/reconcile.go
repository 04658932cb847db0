package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Reconciler works on the databases as their owner.
type Reconciler struct {
	router *postgres.Router
	gates  *tenancy.Gates
	store  *tenancy.Store
	keys   journal.Keys

	directory  *identity.Service
	worlds     *lease.Service
	records    *record.Service
	migrations *migration.Service
}

// New makes the reconciler of an installation. keys are the public keys that sign
// checkpoints of journals, all that there have ever been. It derives no secret and
// reads no body.
func New(router *postgres.Router, keys journal.Keys) *Reconciler {
	gates := tenancy.NewGates(router)
	store := tenancy.NewStore(router.Control(), gates, nil, time.Now)
	worlds := lease.New(router, nil, lease.Options{Purpose: tenancy.Restore})
	return &Reconciler{
		router: router, gates: gates, store: store, keys: keys,
		directory:  identity.New(router, nil, identity.Options{}),
		worlds:     worlds,
		records:    record.New(router, worlds, nil, record.Options{Purpose: tenancy.Restore}),
		migrations: migration.New(router, store, nil, migration.Options{}),
	}
}

// Request says what is to be reconciled.
type Request struct {
	Control bool                     // the control database was restored too
	Keep    map[domain.RecordID]bool // the records that keep a key which another one has too
}

// Listener is told of what happens as it happens, from one goroutine.
type Listener interface {
	// Progress says what is worked on, for somebody who waits.
	Progress(text string)
	// Decide tells what somebody has to decide before the numbers may be opened.
	Decide(Decision) error
	// Note tells what somebody should know, and need do nothing about.
	Note(Note) error
	// Tenant tells a tenant that is done.
	Tenant(Tenant) error
}

// Decision is something that the databases don't say.
type Decision struct {
	Tenant domain.TenantID       `json:"tenant_id"`
	Name   string                `json:"name"`
	Kind   string                `json:"kind"` // KeyOfTwo, ControlBehind
	Key    *identity.DoubleOwner `json:"key,omitempty"`
	Detail string                `json:"detail"`
}

// The kinds of decisions.
const (
	KeyOfTwo      = "key_of_two"
	ControlBehind = "control_behind"
)

// Note is something that is as it is.
type Note struct {
	Tenant domain.TenantID    `json:"tenant_id,omitzero"`
	Name   string             `json:"name,omitempty"`
	Kind   string             `json:"kind"` // "migration", "control", "purged", "gates"
	Moved  *migration.Setback `json:"migration,omitempty"`
	Detail string             `json:"detail"`
}

// Tenant is what was done to one.
type Tenant struct {
	ID         domain.TenantID      `json:"tenant_id"`
	Name       string               `json:"name"`
	Identity   identity.Reconciled  `json:"identity"`
	Lease      lease.Reconciled     `json:"lease"`
	Record     record.Reconciled    `json:"record"`
	Migrations migration.Reconciled `json:"migrations"`
	Removed    int64                `json:"removed"` // rows of one that had been purged
}

// Outcome is what a reconciliation came to.
type Outcome struct {
	Restored  []State                  `json:"restored"` // the databases that were reconciled, or would be but for the decisions
	Control   *tenancy.RepairedControl `json:"control,omitempty"`
	Tenants   int64                    `json:"tenants"`
	Decisions int64                    `json:"decisions"` // 0: the databases may be opened
}

// ErrNothing says that no database is closed for a restore.
var ErrNothing = errors.New("no data database is closed for a restore: close those that were restored by holdfast restore close, " +
	"or say --control if it was the control database")

// Reconcile puts the databases that are closed for a restore in step with the
// others. It may be repeated, whatever became of the time before.
//
// Errors: ErrNothing, ErrNotClosed, the listener's, unavailable. Whoever gets the
// last one repeats it.
func (r *Reconciler) Reconcile(ctx context.Context, req Request, l Listener) (done Outcome, err error) {
	var restored domain.Restored
	if done.Restored, restored, err = r.restored(ctx); err != nil {
		return done, err
	}
	if len(done.Restored) == 0 && !req.Control {
		return done, ErrNothing
	}
	run := &run{Reconciler: r, Request: req, Listener: l, restored: &restored, done: &done}
	if req.Control {
		if err := run.control(ctx); err != nil {
			return done, err
		}
	}
	if err := r.raiseFloors(ctx); err != nil {
		return done, err
	}
	if err := run.everyTenant(ctx); err != nil || done.Decisions > 0 {
		return done, err
	}
	now := time.Now()
	for i, state := range done.Restored {
		db := r.router.Named(state.Database)
		if err := reconciled(ctx, db, state.ID, now); err != nil {
			return done, fmt.Errorf("data database %s: %w", db.Name, err)
		}
		if done.Restored[i], err = read(ctx, db); err != nil {
			return done, err
		}
	}
	return done, nil
}

// restored gives the databases that are closed for a restore, and their numbers.
func (r *Reconciler) restored(ctx context.Context) (states []State, restored domain.Restored, err error) {
	all, err := Show(ctx, r.router)
	if err != nil {
		return nil, restored, err
	}
	for i, db := range r.router.Databases() {
		state := all[i]
		if !state.UnderWay() {
			continue
		}
		if len(state.Open) > 0 {
			return nil, restored, fmt.Errorf("data database %s: %w", db.Name, ErrNotClosed)
		}
		states = append(states, state)
		for _, n := range db.Numbers {
			restored[n] = state.ID
		}
	}
	return states, restored, nil
}

// raiseFloors has every database demand of processes what any of them demands: a
// restored one may be from before it was raised.
func (r *Reconciler) raiseFloors(ctx context.Context) error {
	format := int16(tenancy.RecordsInSQL)
	for _, db := range r.router.Databases() {
		gates, err := postgres.ReadGates(ctx, db.Pool)
		if err != nil {
			return fmt.Errorf("data database %s: %w", db.Name, err)
		}
		for _, gate := range gates {
			format = max(format, gate.RecordFormat)
		}
	}
	return r.gates.DemandRecordFormat(ctx, format)
}
