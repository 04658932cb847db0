package fleet

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Prepare makes both databases ready for the copying: it gives the target the
// tenants' gates and the numbers' (of copies, for now), opens its tables to what
// replication writes, and publishes the numbers' rows on the source. Traffic goes
// on; nothing is closed.
//
// It refuses a source that publishes the numbers of another move, numbers of which the
// source is not the database that counts, or that the target has rows of: what is left
// there from a former time would stand in the way.
func Prepare(ctx context.Context, router *postgres.Router, m Move) error {
	unlock, err := postgres.LockSchema(ctx, router.Control())
	if err != nil {
		return fmt.Errorf("control database: %w", err)
	}
	defer unlock()
	if err := m.mayBegin(ctx, router); err != nil {
		return err
	}
	if err := copyTenantGates(ctx, m.From, m.To); err != nil {
		return err
	}
	if err := m.copyNumberGates(ctx); err != nil {
		return err
	}
	if err := setForced(ctx, m.To, false); err != nil {
		return err
	}
	return m.publish(ctx)
}

func (m Move) mayBegin(ctx context.Context, router *postgres.Router) error {
	if err := postgres.CheckSchema(ctx, router); err != nil {
		return err
	}
	if err := demandStates(ctx, m.From, m.Numbers, "open", "closed"); err != nil {
		return err
	}
	if err := demandStates(ctx, m.To, m.Numbers, "copy", ""); err != nil {
		return err
	}
	if err := refuseReplication(ctx, m.From, m.To); err != nil {
		return err
	}
	if err := m.refuseAnother(ctx); err != nil {
		return err
	}
	var level string
	if err := m.From.Pool.QueryRow(ctx, `SHOW wal_level`).Scan(&level); err != nil {
		return on(m.From, err)
	}
	if level != "logical" {
		return refuse("data database %s: its server has wal_level = %s, and numbers leave it with logical only", m.From.Name, level)
	}
	return m.demandEmpty(ctx)
}

// demandEmpty refuses a target that has rows of the numbers.
func (m Move) demandEmpty(ctx context.Context) error {
	tables, err := movingTables(ctx, m.To)
	if err != nil {
		return err
	}
	return asOperator(ctx, m.To, func(tx pgx.Tx) error {
		for _, table := range tables {
			var found bool
			sql := fmt.Sprintf(`SELECT EXISTS (SELECT FROM %s WHERE number = ANY ($1))`, table)
			if err := tx.QueryRow(ctx, sql, smallints(m.Numbers)).Scan(&found); err != nil {
				return err
			}
			if found {
				return refuse("%s has rows of the numbers already: run holdfast fleet clean %s --on %s",
					table, postgres.FormatNumbers(m.Numbers), m.To.Name)
			}
		}
		return nil
	})
}

// sqlAddNumberGate leaves a gate that is there, but for what a process must know.
const sqlAddNumberGate = `
INSERT INTO number_gates AS g (number, state, record_format, lease_rules) VALUES ($1, 'copy', $2, $3)
ON CONFLICT (number) DO UPDATE
   SET record_format = greatest(g.record_format, excluded.record_format), lease_rules = greatest(g.lease_rules, excluded.lease_rules)`

// copyNumberGates gives the target gates of copies. From now on, whoever demands more
// of processes demands it there too.
func (m Move) copyNumberGates(ctx context.Context) error {
	gates, err := postgres.ReadGates(ctx, m.From.Pool)
	if err != nil {
		return on(m.From, err)
	}
	moving := map[domain.Number]bool{}
	for _, n := range m.Numbers {
		moving[n] = true
	}
	return asOperator(ctx, m.To, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		for _, gate := range gates {
			if moving[gate.Number] {
				batch.Queue(sqlAddNumberGate, int16(gate.Number), gate.RecordFormat, gate.LeaseRules)
			}
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}
