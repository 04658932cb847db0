package tenancy

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// ControlTx runs fn in a transaction of the control database whose row-level
// security shows one tenant's rows only; with Operators, the operators' rows. It
// is for the domains whose own tables stand there.
//
// Errors: fn's; unavailable, outcome unknown when the connection was lost on the
// commit.
func (s *Store) ControlTx(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error {
	return s.controlTx(ctx, tenant, fn)
}

// OperatorsTx is ControlTx for the operators' rows, in the turn of the tenant for which
// they are written.
func (s *Store) OperatorsTx(ctx context.Context, inTurnOf domain.TenantID, fn func(pgx.Tx) error) error {
	ctx, span := startTx(ctx, Operators, controlName, "")
	err := s.runControl(ctx, inTurnOf, Operators, fn)
	endTx(span, err)
	return err
}

// ControlRead is ControlTx for what writes nothing.
func (s *Store) ControlRead(ctx context.Context, tenant domain.TenantID, fn func(pgx.Tx) error) error {
	return s.controlRead(ctx, tenant, fn)
}
