package identity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// planted is a sound tenant of one test: ada with an address, an approved device
// and a change behind her; ben with an address; gone, who was deleted; and a
// device that waits.
type planted struct {
	*directory
	ada, ben, gone domain.AccountID
	tv, waiting    domain.DeviceID // tv is ada's
}

const tvCode, waitingCode = "WDJBMJHT", "BCDFGHJK"

func (d *directory) plant(t *testing.T) *planted {
	t.Helper()
	p := &planted{directory: d.with(Options{})}
	p.scope = d.newTenant(t, "ascii")
	tv := deviceLine("tv", "ada")
	tv.Device.UserCode, tv.Device.ExpiresAt = new(tvCode), new(time.Now().Add(time.Hour))
	p.importAll(t, accountLine("ada", "ada", "ada@example.com"), accountLine("ben", "ben", "ben@example.com"), accountLine("gone", "gone", "gone@example.com"),
		tv, codeLine("waiting", waitingCode, time.Now().Add(time.Hour)))
	p.ada, p.ben, p.gone, p.tv, p.waiting = p.imported("ada"), p.imported("ben"), p.imported("gone"), p.importedDevice("tv"), p.importedDevice("waiting")
	for revision := range int64(2) {
		if _, err := p.Patch(t.Context(), p.scope, p.ada, revision+1, AccountPatch{DisplayName: new(new("Ada"))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Delete(t.Context(), p.scope, p.gone, 1); err != nil {
		t.Fatal(err)
	}
	return p
}

// do runs a statement on every database. $1 is the tenant.
func (p *planted) do(t *testing.T, sql string, args ...any) {
	t.Helper()
	p.everywhere(t, sql, append([]any{p.scope.Tenant}, args...)...)
}

// doOn runs a statement on a number's database, whose other arguments begin with
// the tenant and the number.
func (p *planted) doOn(t *testing.T, n domain.Number, sql string, args ...any) {
	t.Helper()
	if _, err := p.in.Admin(t, p.router.Database(n).Name).Exec(t.Context(), sql, append([]any{p.scope.Tenant, int16(n)}, args...)...); err != nil {
		t.Fatal(err)
	}
}

// beside is another number on a number's database.
func (p *planted) beside(n domain.Number) domain.Number {
	numbers := p.router.Database(n).Numbers
	return numbers[(slices.Index(numbers, n)+1)%len(numbers)]
}

// short is a violation without its words, and holds it to the rest.
func (p *planted) short(t *testing.T, v Violation) string {
	t.Helper()
	names := map[domain.RecordID]string{domain.RecordID(p.ada): "ada", domain.RecordID(p.ben): "ben", domain.RecordID(p.gone): "gone",
		domain.RecordID(p.tv): "tv", domain.RecordID(p.waiting): "waiting", {}: "nobody"}
	if here := v.Number < domain.Numbers && p.router.Database(v.Number).Name == v.Database; here == (v.Kind == WrongDatabase) {
		t.Errorf("%s names number %d on %s", v.Kind, v.Number, v.Database)
	}
	for _, personal := range []string{"ada", "@example.com", tvCode, waitingCode, "Ada"} {
		if strings.Contains(v.Detail, personal) {
			t.Errorf("%s tells %q: %s", v.Kind, personal, v.Detail)
		}
	}
	if len(v.Detail) < 60 {
		t.Errorf("%s says only %q", v.Kind, v.Detail)
	}
	name, known := names[v.Record]
	if !known {
		name = "somebody"
	}
	return fmt.Sprintf("%s %s of %s", v.Kind, v.Family, name)
}

const insertClaim = `
INSERT INTO claims (tenant_id, number, family, key, owner_family, owner_id, token, rules)
VALUES ($1, $2, $3, $4, $5, $6, gen_random_uuid(), 1)`

const insertOperation = `
INSERT INTO operations (tenant_id, number, family, record_id, token, state, deadline, base_revision, proposal, new_links, old_links, traceparent)
VALUES ($1, $2, 'account', $3, gen_random_uuid(), $4, now() + interval '1 hour', $5, '{}', $6, '[]', '')`

const insertChange = `
INSERT INTO email_changes (tenant_id, number, account_id, change_id, email, email_key, code_hash, server_key_id, wrong_codes, created_at, expires_at)
VALUES ($1, $2, $3, gen_random_uuid(), 'x@example.com', 'x@example.com', sha256('x'), 'test', 0, now(), now() + interval '1 hour')`

// Each plants what must never be, and says everything that a check finds then.
var plants = []struct {
	name  string
	plant func(*testing.T, *planted)
	want  []string
}{
	{"a claim is gone", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM claims WHERE tenant_id = $1 AND key = 'ada@example.com'`)
	}, []string{"key_unclaimed email of ada"}},
	{"a claim has another token", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE claims SET token = gen_random_uuid() WHERE tenant_id = $1 AND key = 'ada'`)
	}, []string{"key_unclaimed handle of ada"}},
	{"a claim has another owner", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE claims SET owner_id = $2 WHERE tenant_id = $1 AND key = 'ada'`, p.ben)
	}, []string{"key_unclaimed handle of ada"}},
	{"a claim belongs to a device with the same id", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE claims SET owner_family = 'device' WHERE tenant_id = $1 AND key = 'ada'`)
	}, []string{"key_unclaimed handle of ada", "wrong_owner handle of ada"}},
	{"a claim stands in another bucket", func(t *testing.T, p *planted) {
		n := domain.NumberOf("ada")
		p.doOn(t, n, `UPDATE claims SET number = $3 WHERE tenant_id = $1 AND number = $2 AND key = 'ada'`, int16(p.beside(n)))
	}, []string{"key_unclaimed handle of ada", "wrong_bucket handle of ada"}},
	{"the claim of a deleted account's handle is gone", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM claims WHERE tenant_id = $1 AND key = 'gone'`)
	}, []string{"key_unclaimed handle of gone"}},
	{"the claim of a code is gone", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM claims WHERE tenant_id = $1 AND key = $2`, tvCode)
	}, []string{"key_unclaimed device-code of tv"}},
	{"two accounts have one address", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE accounts SET email_key = 'ada@example.com' WHERE tenant_id = $1 AND account_id = $2`, p.ben)
	}, []string{"key_unclaimed email of ben"}},
	{"an account stands in another bucket", func(t *testing.T, p *planted) {
		n := accountRef(p.ben).Number
		p.doOn(t, n, `UPDATE accounts SET number = $3 WHERE tenant_id = $1 AND number = $2 AND account_id = $4`, int16(p.beside(n)), p.ben)
	}, []string{"record_missing account of ben", "wrong_bucket account of ben"}},
	{"a device stands in another bucket", func(t *testing.T, p *planted) {
		n := deviceRef(p.waiting).Number
		p.doOn(t, n, `UPDATE devices SET number = $3 WHERE tenant_id = $1 AND number = $2 AND device_id = $4`, int16(p.beside(n)), p.waiting)
	}, []string{"record_missing device of waiting", "wrong_bucket device of waiting"}},
	{"rows stand on another database", func(t *testing.T, p *planted) {
		const n = 0
		admin := p.in.Admin(t, "data3")
		if p.router.Database(n).Name == "data3" {
			t.Fatal("the number is there")
		}
		if _, err := admin.Exec(t.Context(), insertClaim, p.scope.Tenant, int16(n), "email", "x", "account", p.ada); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Exec(t.Context(), `INSERT INTO event_counters VALUES ($1, $2, 7)`, p.scope.Tenant, int16(n)); err != nil {
			t.Fatal(err)
		}
	}, []string{"wrong_database email of nobody", "wrong_database event of nobody"}},
	{"rows stand in numbers that there are not", func(t *testing.T, p *planted) {
		for _, n := range []int16{-1, 64} {
			if _, err := p.in.Admin(t, "data1").Exec(t.Context(), insertClaim, p.scope.Tenant, n, "email", "x", "account", p.ada); err != nil {
				t.Fatal(err)
			}
		}
	}, []string{"wrong_database email of nobody", "wrong_database email of nobody"}},
	{"a link is gone", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM account_devices WHERE tenant_id = $1`)
	}, []string{"link_missing account of tv"}},
	{"a link stands in another bucket", func(t *testing.T, p *planted) {
		n := accountRef(p.ada).Number
		p.doOn(t, n, `UPDATE account_devices SET number = $3 WHERE tenant_id = $1 AND number = $2`, int16(p.beside(n)))
	}, []string{"link_missing account of tv", "wrong_bucket account of ada"}},
	{"a link stands beside no account", func(t *testing.T, p *planted) {
		n := accountRef(domain.AccountID{}).Number
		p.doOn(t, n, `INSERT INTO account_devices VALUES ($1, $2, '00000000-0000-0000-0000-000000000000', $3, true, now())`, p.waiting)
	}, []string{"account_missing account of nobody"}},
	{"an email change stands beside no account", func(t *testing.T, p *planted) {
		p.doOn(t, accountRef(domain.AccountID{}).Number, insertChange, domain.AccountID{})
	}, []string{"account_missing account of nobody"}},
	{"a tombstone has attributes", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE accounts SET attributes = '{"a": 1}' WHERE tenant_id = $1 AND account_id = $2`, p.gone)
	}, []string{"tombstone_speaks account of gone"}},
	{"a tombstone has an address as given", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE accounts SET email = 'gone@example.com' WHERE tenant_id = $1 AND account_id = $2`, p.gone)
	}, []string{"tombstone_speaks account of gone"}},
	{"a tombstone has a pending email change", func(t *testing.T, p *planted) {
		p.doOn(t, accountRef(p.gone).Number, insertChange, p.gone)
	}, []string{"tombstone_speaks account of gone"}},
	{"a revision has no event", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE accounts SET revision = revision + 1 WHERE tenant_id = $1 AND account_id = $2`, p.ada)
	}, []string{"events_missing account of ada"}},
	{"a device's revision has no event", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE devices SET revision = revision + 1 WHERE tenant_id = $1 AND device_id = $2`, p.tv)
	}, []string{"events_missing device of tv"}},
	{"an event tells of a later revision", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE events SET revision = 4 WHERE tenant_id = $1 AND record_id = $2 AND revision = 3`, p.ada)
	}, []string{"events_missing account of ada"}},
	{"an event between others is gone", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM events WHERE tenant_id = $1 AND record_id = $2 AND revision = 2`, p.ada)
	}, []string{"events_missing account of ada", "stream_broken event of nobody"}},
	{"a record that was made lately has no first event", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM events WHERE tenant_id = $1 AND number = $2 AND sequence <= (SELECT sequence FROM events WHERE tenant_id = $1 AND record_id = $3 AND revision = 1)`,
			int16(accountRef(p.ada).Number), p.ada)
	}, []string{"events_missing account of ada"}},
	{"the stream of a record that was changed lately is empty", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM events WHERE tenant_id = $1 AND number = $2`, int16(accountRef(p.ada).Number))
	}, []string{"events_missing account of ada"}},
	{"a sequence is left out", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE events SET sequence = sequence + 1 WHERE tenant_id = $1 AND record_id = $2 AND revision = 3`, p.ada)
		p.do(t, `UPDATE event_counters SET last = last + 1 WHERE tenant_id = $1 AND number = $2`, int16(accountRef(p.ada).Number))
	}, []string{"stream_broken event of nobody"}},
	{"a counter is ahead of its events", func(t *testing.T, p *planted) {
		p.do(t, `UPDATE event_counters SET last = last + 1 WHERE tenant_id = $1 AND number = $2`, int16(accountRef(p.ada).Number))
	}, []string{"stream_broken event of nobody"}},
	{"a counter is gone", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM event_counters WHERE tenant_id = $1 AND number = $2`, int16(accountRef(p.ada).Number))
	}, []string{"stream_broken event of nobody"}},
	{"an account is gone", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM accounts WHERE tenant_id = $1 AND account_id = $2`, p.ben)
	}, []string{"record_missing account of ben"}},
	{"a device is gone", func(t *testing.T, p *planted) {
		p.do(t, `DELETE FROM devices WHERE tenant_id = $1 AND device_id = $2`, p.waiting)
	}, []string{"record_missing device of waiting"}},
	{"an event stands in another bucket", func(t *testing.T, p *planted) {
		n := accountRef(p.ben).Number
		p.doOn(t, n, `UPDATE events SET number = $3, sequence = 1000 WHERE tenant_id = $1 AND number = $2 AND record_id = $4`, int16(p.beside(n)), p.ben)
		p.doOn(t, p.beside(n), `INSERT INTO event_counters VALUES ($1, $2, 1000)`)
	}, []string{"events_missing account of ben", "wrong_bucket account of ben"}},
	{"an operation is ahead of its record", func(t *testing.T, p *planted) {
		p.doOn(t, accountRef(p.ada).Number, insertOperation, p.ada, "prepared", 4, "[]")
	}, []string{"wrong_operation account of ada"}},
	{"an operation is committed without its change", func(t *testing.T, p *planted) {
		p.doOn(t, accountRef(p.ada).Number, insertOperation, p.ada, "committed", 3, "[]")
	}, []string{"wrong_operation account of ada"}},
	{"an operation lists a key in another bucket", func(t *testing.T, p *planted) {
		links := fmt.Sprintf(`[{"family": "email", "number": %d, "key": "x@example.com", "token": %q}]`,
			(domain.NumberOf("x@example.com")+1)%domain.Numbers, domain.RandomID[domain.TokenKind]())
		p.doOn(t, accountRef(p.ada).Number, insertOperation, p.ada, "prepared", 3, links)
	}, []string{"wrong_operation account of ada"}},
	{"an operation stands in another bucket", func(t *testing.T, p *planted) {
		p.doOn(t, p.beside(accountRef(p.ada).Number), insertOperation, p.ada, "prepared", 0, "[]")
	}, []string{"wrong_bucket account of ada"}},
}

func TestCheck_NamesWhatMustNeverBe(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	for _, c := range plants {
		t.Run(c.name, func(t *testing.T) {
			p := d.plant(t)
			p.expectSound(t)
			c.plant(t, p)
			_, found := p.check(t)
			var got []string
			for _, v := range found {
				got = append(got, p.short(t, v))
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("found (-want +got):\n%s", diff)
			}
			report, err := p.Report(t.Context(), p.scope.Tenant)
			if err != nil || report.Openable || !slices.Contains(report.Obstacles, ObstacleViolations) || len(report.Found) != len(found) {
				t.Errorf("the report is %+v, %v", report, err)
			}
		})
	}
}

// What crashes and time leave is counted, and no violation.
func TestCheck_TakesWhatMayBeForWhatItIs(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	for _, c := range []struct {
		name                    string
		plant                   func(*testing.T, *planted)
		pending, residue, codes int64
	}{
		{"a claim that its owner doesn't know", func(t *testing.T, p *planted) {
			p.doOn(t, domain.NumberOf("nobody"), insertClaim, "handle", "nobody", "account", p.ada)
		}, 0, 1, 2},
		{"a creation that died", func(t *testing.T, p *planted) {
			dying := p.with(Options{Faults: &crashAt{point: "claimed", nth: 1}})
			if _, err := dying.tryCreate(t.Context(), "ghost", "ghost@example.com"); !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
		}, 1, 0, 2},
		{"a deletion that died", func(t *testing.T, p *planted) {
			dying := p.with(Options{Faults: &crashAt{point: "deleted", nth: 1}})
			if err := dying.Delete(t.Context(), p.scope, p.ben, 1); !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
		}, 1, 0, 2},
		{"a code that has expired and been taken", func(t *testing.T, p *planted) {
			p.do(t, `UPDATE devices SET expires_at = now() WHERE tenant_id = $1 AND device_id = $2`, p.waiting)
			p.do(t, `UPDATE claims SET expires_at = now() WHERE tenant_id = $1 AND key = $2`, waitingCode)
			p.importAll(t, codeLine("other", waitingCode, time.Now().Add(time.Hour)))
		}, 0, 0, 2},
		{"a code that is about to expire, on clocks that differ", func(t *testing.T, p *planted) {
			p.do(t, `UPDATE devices SET expires_at = now() + interval '30 seconds' WHERE tenant_id = $1 AND device_id = $2`, p.waiting)
			p.do(t, `DELETE FROM claims WHERE tenant_id = $1 AND key = $2`, waitingCode)
		}, 0, 0, 2},
		{"a quarantine that has ended, and a handle that has been taken", func(t *testing.T, p *planted) {
			p.do(t, `UPDATE accounts SET quarantined_until = now() WHERE tenant_id = $1 AND account_id = $2`, p.gone)
			p.importAll(t, accountLine("gone-again", "gone", ""))
		}, 0, 0, 2},
		{"events that are past their retention", func(t *testing.T, p *planted) {
			p.do(t, `UPDATE accounts SET created_at = now() - interval '1 year', updated_at = now() - interval '91 days' WHERE tenant_id = $1 AND account_id = $2`, p.ben)
			p.do(t, `UPDATE accounts SET created_at = now() - interval '91 days' WHERE tenant_id = $1 AND account_id = $2`, p.ada)
			p.do(t, `DELETE FROM events WHERE tenant_id = $1 AND (record_id = $2 OR record_id = $3 AND revision = 1)`, p.ben, p.ada)
		}, 0, 0, 2},
		{"an approved device of a deleted account", func(t *testing.T, p *planted) {
			if err := p.Delete(t.Context(), p.scope, p.ada, 3); err != nil {
				t.Fatal(err)
			}
			p.do(t, `DELETE FROM account_devices WHERE tenant_id = $1`)
		}, 0, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := d.plant(t)
			c.plant(t, p)
			census := p.expectSound(t)
			if census.Pending != c.pending || census.Residue != c.residue {
				t.Errorf("%d operations are pending and %d claims left over, want %d and %d", census.Pending, census.Residue, c.pending, c.residue)
			}
			report, err := p.Report(t.Context(), p.scope.Tenant)
			if err != nil || report.Openable != (c.pending == 0) || slices.Contains(report.Obstacles, ObstaclePending) != (c.pending > 0) {
				t.Errorf("the report is %+v, %v", report, err)
			}
		})
	}
}
