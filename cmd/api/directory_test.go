package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// directory is what a stack's data databases hold of accounts, read and changed
// around everything, as the superuser.
type directory struct {
	installation *testkit.Installation
	databases    []*pgxpool.Pool
}

func openDirectory(t testing.TB, in *testkit.Installation) *directory {
	t.Helper()
	d := &directory{installation: in}
	for _, location := range in.Settings(postgres.RoleAPI).Data {
		d.databases = append(d.databases, in.Admin(t, location.Name))
	}
	return d
}

// rows of every data database.
func rows[T any](t testing.TB, d *directory, sql string, scan pgx.RowToFunc[T], args ...any) (all []T) {
	t.Helper()
	for _, db := range d.databases {
		found, _ := db.Query(t.Context(), sql, args...)
		some, err := pgx.CollectRows(found, scan)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

func words(t testing.TB, d *directory, sql string, args ...any) []string {
	t.Helper()
	return rows(t, d, sql, pgx.RowTo[string], args...)
}

// holding is that somebody has a key under a token: by a claim's word or by an
// account's.
type holding struct{ Tenant, Family, Key, Owner, Token string }

const sqlClaimed = `
SELECT tenant_id::text, family, key, owner_id::text, token::text FROM claims`

// sqlHeld has tombstones too: they hold their handles. A device holds its code for
// as long as that lives.
const sqlHeld = `
SELECT a.tenant_id::text, k.family, k.key, a.account_id::text, k.token::text
  FROM accounts a
 CROSS JOIN LATERAL (VALUES ('handle', a.handle_key, a.handle_token),
                            ('handle', a.skeleton_key, a.skeleton_token),
                            ('email', a.email_key, a.email_token)) AS k (family, key, token)
 WHERE k.key IS NOT NULL
 UNION ALL
SELECT d.tenant_id::text, 'device-code', d.user_code, d.device_id::text, d.user_code_token::text
  FROM devices d
 WHERE d.user_code IS NOT NULL AND d.expires_at > now()`

// holders are the owners of what the tenant's accounts hold, by key.
func (d *directory) holders(t testing.TB, tenant string) map[string]string {
	t.Helper()
	holders := map[string]string{}
	for _, h := range rows(t, d, sqlHeld, pgx.RowToStructByPos[holding]) {
		if h.Tenant == tenant {
			holders[h.Key] = h.Owner
		}
	}
	return holders
}

// check holds what must be true whatever was killed: a key is claimed once, and
// every committed account's keys are claimed by it, under its tokens. With
// settled, recovery is said to have run, and nothing else may be there.
func (d *directory) check(t testing.TB, when string, settled bool) {
	t.Helper()
	owners, unknown := map[holding]string{}, map[holding]bool{}
	for _, c := range rows(t, d, sqlClaimed, pgx.RowToStructByPos[holding]) {
		unknown[c] = true
		key := holding{Tenant: c.Tenant, Family: c.Family, Key: c.Key}
		if other, twice := owners[key]; twice {
			t.Errorf("%s: %s %q is claimed twice, by %s and %s", when, c.Family, c.Key, other, c.Owner)
		}
		owners[key] = c.Owner
	}
	for _, h := range rows(t, d, sqlHeld, pgx.RowToStructByPos[holding]) {
		if !unknown[h] {
			t.Errorf("%s: %+v is an account's word, and no such claim stands", when, h)
		}
		delete(unknown, h)
	}
	if !settled {
		return
	}
	for c := range unknown {
		t.Errorf("%s: %+v is a claim, and no account holds that", when, c)
	}
	if left := d.operations(t); len(left) > 0 {
		t.Errorf("%s: operations are left over: %v", when, left)
	}
}

// operations are the states of all operations.
func (d *directory) operations(t testing.TB) []string {
	t.Helper()
	return words(t, d, `SELECT state FROM operations`)
}

// remains is what there is of a tenant.
type remains struct {
	accounts   string // their states
	operations string // likewise
	claims     int
}

func (d *directory) remainsOf(t testing.TB, tenant string) remains {
	t.Helper()
	sorted := func(sql string) []string { return slices.Sorted(slices.Values(words(t, d, sql, tenant))) }
	return remains{
		accounts:   strings.Join(sorted(`SELECT status FROM accounts WHERE tenant_id = $1::text::uuid`), " "),
		operations: strings.Join(sorted(`SELECT state FROM operations WHERE tenant_id = $1::text::uuid`), " "),
		claims:     len(sorted(`SELECT key FROM claims WHERE tenant_id = $1::text::uuid`)),
	}
}

// awaitSilence returns once no API process is connected any more: nothing that a
// dead one has sent can still happen.
func (d *directory) awaitSilence(t testing.TB) {
	t.Helper()
	eventually(t, "the servers have noticed that their client is dead", func() bool {
		return len(words(t, d, `
SELECT state FROM pg_stat_activity WHERE datname = current_database() AND usename = 'holdfast_api'`)) == 0
	})
}

// recover brings every deadline into the past and sweeps every number, as the
// worker does.
func (d *directory) recover(t testing.TB) {
	t.Helper()
	d.expire(t)
	router := d.installation.Router(t, postgres.RoleWorker)
	sweeper := identity.New(router, nil, identity.Options{})
	for _, db := range router.Databases() {
		for _, n := range db.Numbers {
			pass(t, func() (identity.SweepStep, error) {
				return sweeper.SweepOperations(t.Context(), db.Name, domain.FamilyAccount, n, 10)
			})
			for _, family := range []domain.Family{domain.FamilyHandle, domain.FamilyEmail} {
				pass(t, func() (identity.SweepStep, error) {
					return sweeper.SweepClaims(t.Context(), db.Name, family, n, 10)
				})
			}
		}
	}
}

func (d *directory) expire(t testing.TB) {
	t.Helper()
	for _, db := range d.databases {
		if _, err := db.Exec(t.Context(), `UPDATE operations SET deadline = deadline - interval '1 hour'`); err != nil {
			t.Fatal(err)
		}
	}
}

func pass(t testing.TB, step func() (identity.SweepStep, error)) {
	t.Helper()
	for {
		did, err := step()
		if err != nil {
			t.Fatal(err)
		}
		if did.Done {
			return
		}
	}
}
