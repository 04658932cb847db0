package audit

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Control is what the log needs of tenancy.Store: transactions of the control
// database in which row-level security shows one tenant's rows, or with the zero id
// the operators'.
type Control interface {
	ControlTx(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error
	// OperatorsTx is ControlTx for the operators' rows, in the tenant's turn at the
	// database's connections.
	OperatorsTx(ctx context.Context, inTurnOf domain.TenantID, fn func(pgx.Tx) error) error
	ControlRead(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error
}

// Log is the log of one installation.
type Log struct {
	control Control
	signer  Signer
	now     func() time.Time
	metrics *metrics
	acts    acts
}

// New makes the log. The clock stamps entries, and the signer signs heads: nil for who
// gives none.
func New(control Control, signer Signer, now func() time.Time) *Log {
	return &Log{control, signer, now, newMetrics(), newActs()}
}

// operators is the tenant id of what belongs to no tenant.
var operators = domain.TenantID{}

const (
	// sqlLockLog makes one append, or cut, go first. The entry in front is read behind
	// it, so that what is read is the last one.
	sqlLockLog = `SELECT pg_advisory_xact_lock(audit_log_lock())`

	sqlLastEntry = `SELECT sequence, hash, at FROM audit_log ORDER BY sequence DESC LIMIT 1`

	sqlAppendEntry = `
INSERT INTO audit_log (sequence, at, tenant_id, operator, operation, entry, hash)
VALUES ($1, $2, $3, $4, $5, $6, $7)`
)

// Append adds the entry at the end of the chain and gives its number. When it
// returns without an error the entry is there for good. What a tenant's principal does
// is written in the tenant's turn, so that many of them don't keep operators waiting.
//
// Errors: unavailable; outcome unknown when the connection was lost on the commit.
func (l *Log) Append(ctx context.Context, e Entry) (sequence int64, err error) {
	inTurnOf := operators
	if e.Actor != nil {
		inTurnOf = e.Actor.Tenant
	}
	err = l.control.OperatorsTx(ctx, inTurnOf, func(tx pgx.Tx) error {
		sequence, err = AppendTx(ctx, tx, l.now(), e)
		return err
	})
	if err == nil {
		l.metrics.wrote(ctx, e)
	}
	return sequence, err
}

// AppendTx is Append in a transaction of the control database that is entered for the
// operators: the entry commits with what it tells of. Do it last, since everybody who
// appends waits for the commit.
func AppendTx(ctx context.Context, tx pgx.Tx, now time.Time, e Entry) (sequence int64, err error) {
	if _, err := tx.Exec(ctx, sqlLockLog); err != nil {
		return 0, err
	}
	last, err := lastTx(ctx, tx)
	if err != nil {
		return 0, err
	}
	e.Type, e.Sequence, e.Previous = entryType, last.Sequence+1, last.Hash
	// The clocks of two processes may lie apart.
	if e.At = now.UTC().Truncate(time.Microsecond); e.At.Before(last.At) {
		e.At = last.At
	}
	c, err := e.chained()
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, sqlAppendEntry, e.Sequence, e.At, e.Tenant, e.operator(), e.Operation, c.Text, c.Hash[:])
	return e.Sequence, err
}

// operator is the name of the operator who acts, or nil.
func (e *Entry) operator() *string {
	if e.Actor == nil || e.Actor.Tenant != operators {
		return nil
	}
	return &e.Actor.Name
}

// lastTx gives the end of the chain: number 0 and the root of one without entries.
func lastTx(ctx context.Context, tx pgx.Tx) (Head, error) {
	last := Head{Hash: root}
	var hash []byte
	err := tx.QueryRow(ctx, sqlLastEntry).Scan(&last.Sequence, &hash, &last.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return last, nil
	}
	copy(last.Hash[:], hash)
	last.At = last.At.UTC()
	return last, err
}
