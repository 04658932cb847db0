package tenancy

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Store keeps, in the control database, who the tenants and the operators are,
// and which keys they hold. Its methods that act for somebody demand the
// caller's Scope and check it themselves.
type Store struct {
	control *pgxpool.Pool
	turns   *postgres.Turns // at the pool; the operators count as a tenant
	gates   TenantGates
	keys    *ServerKeys
	now     func() time.Time
}

// TenantGates is what the store needs of Gates.
type TenantGates interface {
	Set(ctx context.Context, tenant domain.TenantID, state GateState) error
	DemandRecordFormat(ctx context.Context, format int16) error
}

// NewStore makes the store. The keys must include every server key under which
// something is still kept. The clock stamps rows and judges expiry.
func NewStore(control *pgxpool.Pool, gates TenantGates, keys *ServerKeys, now func() time.Time) *Store {
	s := &Store{control: control, gates: gates, keys: keys, now: now}
	if control != nil {
		s.turns = postgres.NewTurns(int(control.Config().MaxConns))
	}
	return s
}

// Turns are those of tenants at the control database's pool.
func (s *Store) Turns() *postgres.Turns { return s.turns }

// The first is for what reads, and for what is the operators'. The second holds the
// tenant's state, and refuses what a purge would miss.
const (
	sqlEnterControl      = `SELECT enter_control($1)`
	sqlEnterControlWrite = `SELECT enter_control_write($1)`
)

// controlTx runs fn in a transaction of the control database whose row-level
// security shows the tenant's rows only; with Operators, the operators' rows
// and the list of tenants.
func (s *Store) controlTx(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error {
	ctx, span := startTx(ctx, tenant, controlName, "")
	err := s.runControl(ctx, tenant, tenant, fn)
	endTx(span, err)
	return err
}

func (s *Store) runControl(ctx context.Context, inTurnOf, tenant domain.TenantID, fn func(pgx.Tx) error) error {
	turn, err := s.turns.Take(ctx, inTurnOf)
	if err != nil {
		return postgres.Classify(err)
	}
	defer turn.End()
	tx, err := s.beginControl(ctx, tenant, pgx.ReadWrite)
	if err != nil {
		return postgres.Classify(err)
	}
	defer rollback(ctx, tx)
	if err := fn(tx); err != nil {
		return postgres.Classify(err)
	}
	err = tx.Commit(ctx)
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return err // a statement had failed and fn swallowed it: a bug, and a known outcome
	}
	return postgres.CommitFailed(err)
}

// controlRead is controlTx for what writes nothing.
func (s *Store) controlRead(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error {
	ctx, span := startTx(ctx, tenant, controlName, "")
	err := s.readControl(ctx, tenant, fn)
	endTx(span, err)
	return err
}

func (s *Store) readControl(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error {
	turn, err := s.turns.Take(ctx, tenant)
	if err != nil {
		return postgres.Classify(err)
	}
	defer turn.End()
	tx, err := s.beginControl(ctx, tenant, pgx.ReadOnly)
	if err != nil {
		return postgres.Classify(err)
	}
	defer rollback(ctx, tx)
	return postgres.Classify(fn(tx))
}

func (s *Store) beginControl(ctx context.Context, tenant domain.TenantID, mode pgx.TxAccessMode) (pgx.Tx, error) {
	tx, err := s.control.BeginTx(ctx, pgx.TxOptions{AccessMode: mode})
	if err != nil {
		return nil, err
	}
	enter := sqlEnterControl
	if mode == pgx.ReadWrite && tenant != Operators {
		enter = sqlEnterControlWrite
	}
	if _, err := tx.Exec(ctx, enter, tenant); err != nil {
		rollback(ctx, tx)
		return nil, controlError(err)
	}
	return tx, nil
}

// controlError gives the refusal of enter_control_write its kind.
func controlError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "HF010" {
		return errPurged()
	}
	return err
}

// rollback ends what did not commit, even for a caller that has gone, so that
// its locks are free at once. After a commit it does nothing.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	tx.Rollback(ctx) // on failure pgx closes the connection, which rolls back too
}

// List is one page of a list: Limit rows at most (1 to 1,000), those whose
// position comes after After. The zero After begins at the start.
type List[P any] struct {
	After P
	Limit int
}

const maxPage = 1000

func (l List[P]) limit() int { return min(max(l.Limit, 1), maxPage) }

// cut takes the row that was read beyond the limit, to learn that there are more.
func cut[T any](rows []T, limit int) (page []T, more bool) {
	if len(rows) <= limit {
		return rows, false
	}
	return rows[:limit], true
}
