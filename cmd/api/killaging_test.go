package main

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// aging is what may become old in the midst of a storm: its applications have
// done with it.
type aging struct {
	mu         sync.Mutex
	tombstones []*account
	forgotten  []*device
}

func (g *aging) entomb(a *account) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tombstones = append(g.tombstones, a)
}

func (g *aging) forget(d *device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgotten = append(g.forgotten, d)
}

func (g *aging) take() (tombstones []*account, forgotten []*device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tombstones, forgotten = g.tombstones, g.forgotten
	g.tombstones, g.forgotten = nil, nil
	return tombstones, forgotten
}

const (
	sqlQuarantinesOver = `
UPDATE accounts SET quarantined_until = clock_timestamp() - interval '1 hour'
 WHERE account_id = ANY ($1::text[]::uuid[]) AND quarantined_until IS NOT NULL`
	sqlCodesOver = `
UPDATE devices SET expires_at = clock_timestamp() - interval '2 days' WHERE device_id = ANY ($1::text[]::uuid[])`
	sqlTheirClaimsOver = `
UPDATE claims SET expires_at = clock_timestamp() - interval '2 days'
 WHERE owner_id = ANY ($1::text[]::uuid[]) AND expires_at IS NOT NULL`
)

// passTime ends the quarantine of what was deleted so far, and the codes of what
// was forgotten: the cleanup comes upon both, and their keys are anybody's.
func (s *tempest) passTime(t *testing.T) {
	t.Helper()
	tombstones, forgotten := s.aging.take()
	var accounts, devices []string
	for _, a := range tombstones {
		accounts = append(accounts, a.id)
		s.ledger.leaves(a.handle)
		a.note("its quarantine ends")
	}
	for _, d := range forgotten {
		devices = append(devices, d.id)
		d.note("its code ends")
	}
	s.everywhere(t, sqlQuarantinesOver, accounts)
	for _, a := range tombstones {
		s.ledger.left(a.handle)
	}
	s.everywhere(t, sqlCodesOver, devices) // no claim ends before its device's code
	s.everywhere(t, sqlTheirClaimsOver, devices)
}

// everywhere runs a statement on every data database, around everything.
func (s *tempest) everywhere(t *testing.T, sql string, args ...any) {
	t.Helper()
	for _, db := range s.directory.databases {
		execute(t, db, sql, args...)
	}
}

func execute(t *testing.T, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatal(err)
	}
}

// sqlTimes names what a tenant's tables have of times.
const sqlTimes = `
SELECT format('UPDATE %I SET %s', t.table_name, string_agg(format('%1$I = %1$I - interval ''200 days''', t.column_name), ', '))
  FROM information_schema.columns t
  JOIN information_schema.columns o ON o.table_name = t.table_name AND o.table_schema = t.table_schema AND o.column_name = 'tenant_id'
 WHERE t.table_schema = 'public' AND t.data_type = 'timestamp with time zone'
 GROUP BY t.table_name`

// passYears makes everything so old that all goes that ever has to.
func (s *tempest) passYears(t *testing.T) {
	t.Helper()
	for _, db := range s.directory.databases {
		found, _ := db.Query(t.Context(), sqlTimes)
		updates, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, update := range updates {
			execute(t, db, update)
		}
	}
}

// outliveYears notes what doesn't: codes that came to nothing, devices that were
// revoked, and the handles of accounts that were deleted.
func (p *app) outliveYears() {
	for _, d := range p.devices {
		if d.outcome == made && (d.told.revoked || !d.told.redeemed && !d.imported) {
			d.forgotten = true
		}
	}
	for _, a := range p.accounts {
		if a.outcome == made && a.told.deleted {
			p.ledger.left(a.handle)
		}
	}
}
