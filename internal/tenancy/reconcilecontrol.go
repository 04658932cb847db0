package tenancy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// RepairedControl counts what was put right in a control database that had been put
// back.
type RepairedControl struct {
	Tenants  int64 `json:"tenants"`  // whose state, and how their records begin, is again what their gates say
	Adopted  int64 `json:"adopted"`  // of which only gates and rows were left: they are suspended, under a name made from their id
	Deleting int64 `json:"deleting"` // that were being deleted, or had been: they are suspended
	Purged   int64 `json:"purged"`   // that had been purged: what is left of them in the control database is purged too
	Grace    int64 `json:"grace"`    // whose deletion goes on, behind a new grace
	Held     int64 `json:"held"`     // whose purge goes on when the legal hold is lifted that they have got
	Counter  int64 `json:"counter"`  // of revocations, now
}

// sqlGatedTenants lists whom a data database knows. The owner sees it as the scanner
// does, to which it belongs.
const sqlGatedTenants = `SELECT g.tenant_id FROM tenant_gates g WHERE g.tenant_id > $1 ORDER BY g.tenant_id LIMIT $2`

// sqlFollowGate puts a control row where its gates are, and one revision on, so that
// all gates follow it again.
const sqlFollowGate = `
UPDATE tenants SET state = $2, identity_state = $3, record_format = $4, revision = $5 + 1, updated_at = $6
 WHERE tenant_id = $1
RETURNING ` + tenantColumns

const sqlAdoptTenant = `
INSERT INTO tenants (tenant_id, name, state, layout, identity_state, handle_policy, record_format, id_key, fingerprint, revision, created_at, updated_at)
VALUES ($1, $2, 'suspended', $3, $4, $5, $6, $7, $8, $9 + 1, $10, $10)
ON CONFLICT DO NOTHING
RETURNING ` + tenantColumns

// sqlLeaveRevocations takes the counter on to its next era, beyond what any process
// can have read in the time that was lost: each finds a gap, and forgets what it
// remembers of tenants and clients. 2^40 is domain.NextEra's.
const sqlLeaveRevocations = `
UPDATE revocation_counter SET value = ((value >> 40) + 1) << 40 WHERE only_row RETURNING value`

// RepairControl puts a control database that was put back to an earlier time in step
// with the data databases, which were not. What the gates keep of a tenant is put
// back from there: its state, whether it imports, how its records begin. A tenant
// that only they know is adopted, suspended. What is in the control database alone
// can't be brought back: operators, principals and keys that were made in the time
// that was lost are gone, and those that were revoked or disabled then are good
// again, until somebody ends them anew.
//
// What a deletion had come to, and whether somebody had set a legal hold, can't be
// known either. So nothing is purged because of what an old row says: see followTx
// and spareDeletions.
//
// It runs as the owner. It may be repeated.
//
// Errors: unavailable, outcome unknown.
func (s *Store) RepairControl(ctx context.Context, gates *Gates, told func(tenant domain.TenantID, what string) error) (done RepairedControl, err error) {
	for _, db := range gates.router.Databases() {
		for after := (domain.TenantID{}); ; {
			rows, _ := db.Pool.Query(ctx, sqlGatedTenants, after, maxPage)
			page, err := pgx.CollectRows(rows, pgx.RowTo[domain.TenantID])
			if err != nil {
				return done, postgres.Classify(err)
			}
			for _, tenant := range page {
				if err := s.repairRow(ctx, gates, tenant, &done, told); err != nil {
					return done, fmt.Errorf("tenant %s: %w", tenant, err)
				}
			}
			if len(page) < maxPage {
				break
			}
			after = page[len(page)-1]
		}
	}
	if err := s.spareDeletions(ctx, gates, &done, told); err != nil {
		return done, err
	}
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, sqlLeaveRevocations).Scan(&done.Counter)
	})
	return done, err
}

// latestGate is the gate of the highest revision that any database has.
func (g *Gates) latestGate(ctx context.Context, tenant domain.TenantID) (latest GateState, err error) {
	for _, db := range g.router.Databases() {
		gate, err := g.read(ctx, db, tenant)
		if err != nil {
			return latest, err
		}
		if gate != nil && gate.Revision > latest.Revision {
			latest = *gate
		}
	}
	return latest, nil
}

// repair is what became of a control row.
type repair struct {
	tenant    Tenant // as it is now
	adopted   bool   // it had none
	purged    bool   // its purge had ended, and is finished
	calledOff bool   // a deletion that the row knew of is no more
}

func (s *Store) repairRow(ctx context.Context, gates *Gates, tenant domain.TenantID, done *RepairedControl, told func(domain.TenantID, string) error) error {
	gate, err := gates.latestGate(ctx, tenant)
	if err != nil {
		return err
	}
	var was repair
	err = s.controlTx(ctx, Operators, func(tx pgx.Tx) error {
		was, err = s.repairRowTx(ctx, gates, tx, tenant, gate)
		return err
	})
	switch {
	case errors.Is(err, errInStep):
		return nil
	case err != nil:
		return err
	case was.purged:
		done.Purged++
		err = told(tenant, "It had been purged. What the control database has of it is purged once more, by the worker.")
	case gate.State != "open" && gate.State != "suspended":
		done.Deleting++
		err = told(tenant, "It was "+gate.State+", and the control database doesn't know that any more. It is suspended. "+
			"Delete it again, unless a legal hold that was set meanwhile forbids it: what is left of it may be incomplete.")
	case was.adopted:
		done.Adopted++
		err = told(tenant, "The control database didn't know it. It is suspended, under the name "+was.tenant.Name+
			". Make its principals and keys anew, and resume it; or delete it.")
	case was.calledOff:
		done.Tenants++
		err = told(tenant, "Its deletion, of which the control database knows, is no more, as its gates say. Its state is "+was.tenant.State+
			". If it is still to be deleted, ask for that again.")
	default:
		done.Tenants++
		err = told(tenant, "Its state is "+was.tenant.State+" again, as its gates say.")
	}
	if err != nil {
		return err
	}
	_, err = s.settleGates(ctx, was.tenant)
	return err
}

var errInStep = errors.New("the control row is not behind")

func (s *Store) repairRowTx(ctx context.Context, gates *Gates, tx pgx.Tx, tenant domain.TenantID, gate GateState) (repair, error) {
	t, err := lockTenantTx(ctx, tx, tenant)
	if domain.KindOf(err) == domain.KindNotFound {
		t, err = s.adoptTx(ctx, gates, tx, tenant, gate)
		return repair{tenant: t, adopted: true}, err
	}
	if err != nil {
		return repair{}, err
	}
	if t.Revision >= gate.Revision {
		return repair{}, errInStep
	}
	ended := gate.State == "closed" && t.Hold == nil && (t.State == TenantDeleting || t.State == TenantPurging)
	if ended {
		if ended, err = gates.forgotten(ctx, tenant); err != nil {
			return repair{}, err
		}
	}
	if ended {
		t, err = s.purgeAnewTx(ctx, tx, t, gate)
		return repair{tenant: t, purged: true}, err
	}
	return s.followTx(ctx, tx, t, gate)
}

// followTx puts a row that is behind where its gates are. A deletion that it knows of
// is then not the one that its gates have come to, if that is one at all, and is
// dropped with its approval. What was purged in part is suspended, whatever the gates
// say.
func (s *Store) followTx(ctx context.Context, tx pgx.Tx, t Tenant, gate GateState) (repair, error) {
	state := TenantSuspended
	if gate.State == "open" && t.State != TenantPurging && t.State != TenantPurged {
		state = TenantActive
	}
	if _, err := tx.Exec(ctx, sqlDropPurge, t.ID); err != nil {
		return repair{}, err
	}
	dropped, err := tx.Exec(ctx, sqlDropDeletion, t.ID)
	if err != nil {
		return repair{}, err
	}
	rows, _ := tx.Query(ctx, sqlFollowGate, t.ID, state, gate.IdentityState, gate.RecordFormat, gate.Revision, s.now())
	t, err = pgx.CollectExactlyOneRow(rows, scanTenant)
	return repair{tenant: t, calledOff: dropped.RowsAffected() > 0}, err
}

// sqlAnySkeleton tells a tenant whose handles were made under the unicode policy.
const sqlAnySkeleton = `SELECT EXISTS (SELECT FROM accounts a WHERE a.tenant_id = $1 AND a.skeleton_key IS NOT NULL)`

// adoptTx makes a control row for a tenant that has only gates. Its key for ids is a
// new one: a request that made something in the lost time, sent again, makes another.
func (s *Store) adoptTx(ctx context.Context, gates *Gates, tx pgx.Tx, tenant domain.TenantID, gate GateState) (Tenant, error) {
	policy := "ascii"
	for _, db := range gates.router.Databases() {
		var unicode bool
		err := pgx.BeginFunc(ctx, db.Pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, setTenant(tenant)); err != nil {
				return err
			}
			return tx.QueryRow(ctx, sqlAnySkeleton, tenant).Scan(&unicode)
		})
		if err != nil {
			return Tenant{}, err
		}
		if unicode {
			policy = "unicode"
			break
		}
	}
	name := "restored-" + strings.ReplaceAll(tenant.String(), "-", "")
	idKey := make([]byte, 32)
	rand.Read(idKey)
	rows, _ := tx.Query(ctx, sqlAdoptTenant, tenant, name, gate.Layout, gate.IdentityState, policy, gate.RecordFormat,
		idKey, fingerprint("restored", name), gate.Revision, s.now())
	return pgx.CollectExactlyOneRow(rows, scanTenant)
}
