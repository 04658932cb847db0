package migration

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// maxDecision bounds the text of a decision, in characters.
const maxDecision = 1000

var (
	errDecision = domain.Invalid("decision_missing", "Say in 1 to 1,000 characters why the migration is closed: it is kept.").At("/decision")
	errNotEmpty = domain.Conflict("not_drained", "A collection isn't drained, or has rows of the former format, which nothing that is told of brings back. Find out by holdfast record check what they are.")
)

// Close ends a verified migration by a decision that is kept. From then on its
// collections are read in their format only. It can be repeated until it has been
// through with all of them.
//
// Errors: not found migration_not_found; invalid decision_missing; conflict
// migration_state, plan_hash_differs, requalification_under_way, recheck_missing,
// not_drained; unavailable.
func (s *Service) Close(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, plan Hash, decision string) (Migration, error) {
	decision = strings.TrimSpace(decision)
	if decision == "" || utf8.RuneCountInString(decision) > maxDecision || !utf8.ValidString(decision) || strings.ContainsRune(decision, 0) {
		return Migration{}, errDecision
	}
	m, _, err := s.standing(ctx, tenant, id, plan)
	switch {
	case err != nil:
		return Migration{}, err
	case m.State == Closed:
		return m, nil
	case m.State != Verified:
		return Migration{}, errState(m.State)
	case m.Envelope != Hash{}:
		return Migration{}, errBuildMoves
	}
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error { return s.demandReportTx(ctx, tx, &m, RecheckReport) })
	if err != nil {
		return Migration{}, err
	}
	all, err := s.checkpoints(ctx, &m)
	if err != nil {
		return Migration{}, err
	}
	// A crash among these leaves some collections closed. Closing again goes on.
	for i := range all {
		if err := s.closeOne(ctx, &m, &all[i]); err != nil {
			return Migration{}, err
		}
	}
	err = s.control.ControlTx(ctx, tenant, func(tx pgx.Tx) error {
		if err := s.demandReportTx(ctx, tx, &m, "recheck"); err != nil {
			return err
		}
		m, err = transitTx(ctx, tx, &m, step{
			act: "close", to: Closed, by: actorOf(scope),
			note: struct {
				Decision string `json:"decision"`
			}{decision},
		})
		return err
	})
	return m, err
}

// sqlClose closes a collection's part, under its plan or one that it followed.
const sqlClose = `
UPDATE migration_checkpoints m SET token = $4, closed_at = $5
 WHERE m.tenant_id = $1 AND m.number = $2 AND m.collection_id = $3
   AND m.token = $6 AND m.migration_id = $7 AND m.plan_hash = ANY ($8) AND m.drained_at IS NOT NULL AND m.closed_at IS NULL`

func (s *Service) closeOne(ctx context.Context, m *Migration, c *Checkpoint) error {
	if !c.ClosedAt.IsZero() {
		return nil
	}
	way := m.Kind.direction()
	lineage := hashes(append([]Hash{m.PlanHash}, m.Former...))
	return tenancy.Run(ctx, s.router.Database(c.number), s.entry(m.Tenant, c.number), func(ctx context.Context, tx *tenancy.Tx) error {
		var stands Checkpoint
		var left bool
		var now time.Time
		locked := s.records.Lock(tx, m.Tenant, c.Collection, c.CollectionID)
		queueCheckpoint(tx, sqlLockCheckpoint, c.number, c.CollectionID, &stands)
		tx.Queue(way.left, int16(c.number), c.CollectionID).QueryRow(func(row pgx.Row) error { return row.Scan(&left) })
		tx.QueueNow(&now)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		switch {
		case !stands.ClosedAt.IsZero():
			return nil
		case left, stands.DrainedAt.IsZero(), locked.Format() != way.to:
			return errNotEmpty.With("collection", c.Collection)
		}
		token := domain.RandomID[domain.TokenKind]()
		locked.Seal(tx)
		tx.Queue(sqlClose, int16(c.number), c.CollectionID, token, now, stands.token, m.ID, lineage)
		tx.Queue(sqlDemandCheckpoint, int16(c.number), c.CollectionID, token)
		return nil
	})
}

// whatIsLeft names a collection that the migration covers and that has rows of the
// former format, whatever its checkpoint says.
func (s *Service) whatIsLeft(ctx context.Context, m *Migration) (collection string, err error) {
	all, err := s.covered(ctx, m)
	if err != nil {
		return "", err
	}
	way := m.Kind.direction()
	for _, c := range all {
		number, some := record.NumberOf(c.Name), false
		e := s.entry(m.Tenant, number)
		e.ReadOnly = true
		err := tenancy.Run(ctx, s.router.Database(number), e, func(_ context.Context, tx *tenancy.Tx) error {
			tx.Queue(way.left, int16(number), c.ID).QueryRow(func(row pgx.Row) error { return row.Scan(&some) })
			return nil
		})
		switch {
		case err != nil:
			return "", err
		case some:
			return c.Name, nil
		}
	}
	return "", nil
}
