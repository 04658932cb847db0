package audit_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

var (
	tenant = domain.TenantID{0x01, 6: 0x70, 8: 0x80, 15: 1}
	other  = domain.TenantID{0x02, 6: 0x70, 8: 0x80, 15: 2}
	ada    = audit.Actor{Principal: domain.PrincipalID{0x0a, 6: 0x70, 8: 0x80}, Name: "ada", Key: domain.KeyID{0x0b, 6: 0x70, 8: 0x80}}
)

// installation is a log on databases of the test's own.
type installation struct {
	databases *testkit.Installation
	log       *audit.Log // as the API has it
	now       time.Time
}

func install(t *testing.T) *installation {
	t.Helper()
	in := &installation{databases: testkit.Databases(t, 1), now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	in.log = in.logOf(t, postgres.RoleAPI)
	return in
}

// logOf is the log as a role has it.
func (in *installation) logOf(t *testing.T, role string) *audit.Log {
	t.Helper()
	store := tenancy.NewStore(in.databases.Router(t, role).Control(), nil, nil, time.Now)
	return audit.New(store, signer{}, func() time.Time { return in.now })
}

// signer signs with a key that everybody knows.
type signer struct{}

var signingKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

func (signer) CheckpointKey(context.Context) (string, ed25519.PrivateKey, error) {
	return "one", signingKey, nil
}

func (in *installation) append(t *testing.T, e audit.Entry) int64 {
	t.Helper()
	sequence, err := in.log.Append(t.Context(), e)
	must(t, err)
	in.now = in.now.Add(time.Second)
	return sequence
}

// acts appends so many acts, each with its outcome.
func (in *installation) acts(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		e := audit.Entry{
			Operation: "suspendTenant", Actor: &ada, Tenant: tenant, Subjects: map[string]string{"tenant_id": tenant.String()},
			Address: "192.0.2.1", Request: fmt.Sprint("request-", i), Before: audit.Hash{1}, Outcome: audit.Begun,
		}
		begun := in.append(t, e)
		e.Outcome, e.Act, e.After, e.Status = audit.Done, begun, audit.Hash{2}, 200
		in.append(t, e)
	}
}

// export is the whole log as the API gives it, a line an entry.
func (in *installation) export(t *testing.T) []string {
	t.Helper()
	var lines []string
	for after := int64(0); ; {
		page, more, err := in.log.Entries(t.Context(), audit.Filter{}, after, audit.MaxPage)
		must(t, err)
		for _, c := range page {
			lines = append(lines, string(c.AppendJSON(nil)))
			after = c.Sequence
		}
		if !more {
			return lines
		}
	}
}

func verify(t testing.TB, lines []string, heads ...audit.Head) audit.Verdict {
	t.Helper()
	v, err := audit.Verify(strings.NewReader(strings.Join(lines, "\n")), heads)
	must(t, err)
	return v
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestLog_VerifiesFromItsLinesAlone(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.acts(t, 3)
	head, err := in.log.Head(t.Context())
	must(t, err)
	v := verify(t, in.export(t), head)
	if v.Fault != nil || v.First != 1 || v.Last != 6 || v.Hash != head.Hash || v.Heads != 1 || len(v.Unknown) != 0 {
		t.Errorf("%+v", v)
	}
	must(t, head.VerifySignature(map[string]ed25519.PublicKey{"one": signingKey.Public().(ed25519.PublicKey)}))
	head.Sequence++
	if head.VerifySignature(map[string]ed25519.PublicKey{"one": signingKey.Public().(ed25519.PublicKey)}) == nil {
		t.Error("another head has the signature of this one")
	}
}

// Whatever is done to the lines is found: with a head that was kept, also at the end.
func TestVerify_FindsEveryTampering(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.acts(t, 6)
	lines := in.export(t)
	head, err := in.log.Head(t.Context())
	must(t, err)
	rapid.Check(t, func(r *rapid.T) {
		tampered, at := tamper(r, lines)
		v := verify(t, tampered, head)
		if v.Fault == nil {
			r.Fatalf("nothing is found wrong with\n%s", strings.Join(tampered, "\n"))
		}
		if v.Fault.Sequence > at {
			r.Fatalf("found at %d what was done at %d: %s", v.Fault.Sequence, at, v.Fault.Detail)
		}
	})
}

// tamper does one thing to the lines, and gives the first number that is wrong then.
func tamper(r *rapid.T, lines []string) (tampered []string, at int64) {
	tampered = append(tampered, lines...)
	i := rapid.IntRange(0, len(lines)-2).Draw(r, "line")
	switch rapid.SampledFrom([]string{"member", "remove", "truncate", "front", "swap", "double", "rehash", "forge"}).Draw(r, "what") {
	case "member": // without a new hash
		var members map[string]any
		if err := json.Unmarshal([]byte(lines[i]), &members); err != nil {
			r.Fatal(err)
		}
		names := make([]string, 0, len(members))
		for name := range members {
			names = append(names, name)
		}
		members[rapid.SampledFrom(sorted(names)).Draw(r, "member")] = "x"
		text, _ := json.Marshal(members)
		tampered[i] = string(text)
	case "remove":
		tampered = append(tampered[:i], tampered[i+1:]...)
	case "truncate":
		tampered = tampered[:i+1]
		i++
	case "front":
		tampered = tampered[i+1:]
		i++
	case "swap":
		tampered[i], tampered[i+1] = tampered[i+1], tampered[i]
	case "double":
		tampered = append(tampered[:i+1], tampered[i:]...)
		tampered[i+1] = lines[i]
		i++
	case "rehash": // one entry is changed and hashed anew
		tampered[i] = rehashed(r, lines[i], "", "mallory")
		i++ // the next doesn't follow it
	case "forge": // and all behind it
		previous := ""
		for j := i; j < len(lines); j++ {
			tampered[j] = rehashed(r, lines[j], previous, "mallory")
			previous = hashIn(r, tampered[j])
		}
		i = len(lines) - 1 // only the head tells
	}
	if i == 0 {
		i = 2 // where a log may begin is told by its end, or by the order of what follows
	}
	return tampered, int64(i + 1)
}

// rehashed changes an entry's actor, and puts it behind another hash.
func rehashed(r *rapid.T, line, previous, name string) string {
	var members map[string]any
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		r.Fatal(err)
	}
	delete(members, "hash")
	members["actor"].(map[string]any)["name"] = name
	if previous != "" {
		members["previous"] = previous
	}
	text, _ := json.Marshal(members)
	hash, err := audit.Digest(text)
	if err != nil {
		r.Fatal(err)
	}
	members["hash"] = hash.String()
	text, _ = json.Marshal(members)
	return string(text)
}

func hashIn(r *rapid.T, line string) string {
	var members struct{ Hash string }
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		r.Fatal(err)
	}
	return members.Hash
}

func TestVerify_NamesActsWithoutAnOutcome(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.acts(t, 1)
	// A process is killed behind this.
	lost := in.append(t, audit.Entry{Operation: "resumeTenant", Actor: &ada, Outcome: audit.Begun})
	in.acts(t, 1)
	v := verify(t, in.export(t))
	if v.Fault != nil || len(v.Unknown) != 1 || v.Unknown[0] != lost {
		t.Errorf("%+v", v)
	}
	in.append(t, audit.Entry{Operation: "suspendTenant", Outcome: audit.Done, Act: lost}) // of another operation
	if v := verify(t, in.export(t)); v.Fault == nil {
		t.Error("an outcome of an act that was never begun is taken")
	}
}

func TestVerify_TakesNothingForALog(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "\n\n", "x", "{}", "null", `{"hash":"x"}`, `{"a":1,"a":2}`, strings.Repeat("x", 2<<20)} {
		v, err := audit.Verify(bytes.NewReader([]byte(text)), nil)
		if err == nil && v.Fault == nil {
			t.Errorf("%.20q is a sound log", text)
		}
	}
}

// Two processes append at once: the entries are one chain, and every one is there.
func TestAppend_ChainsWhatComesAtOnce(t *testing.T) {
	t.Parallel()
	in := install(t)
	var group sync.WaitGroup
	const each = 20
	for _, role := range []string{postgres.RoleAPI, postgres.RoleAPI, postgres.RoleWorker} {
		log := in.logOf(t, role)
		for range 2 {
			group.Go(func() {
				for range each {
					if _, err := log.Append(t.Context(), audit.Entry{Operation: "x", Outcome: audit.Refused}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	if v := verify(t, in.export(t)); v.Fault != nil || v.Last != 6*each {
		t.Errorf("%+v", v)
	}
}

// A clock that lies behind moves no entry before the one in front.
func TestAppend_TimesNeverDecrease(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.acts(t, 1)
	in.now = in.now.Add(-time.Hour)
	in.acts(t, 1)
	if v := verify(t, in.export(t)); v.Fault != nil {
		t.Errorf("%+v", v)
	}
}

func TestEntries_OfATenantAreThoseThatConcernIt(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.append(t, audit.Entry{Operation: "suspendTenant", Actor: &ada, Tenant: tenant, Outcome: audit.Refused})
	in.append(t, audit.Entry{Operation: "suspendTenant", Actor: &ada, Tenant: other, Outcome: audit.Refused})
	in.append(t, audit.Entry{Operation: "createOperator", Actor: &ada, Outcome: audit.Refused})
	for _, filter := range []audit.Filter{{}, {Tenant: other}, {Operator: "ada"}} {
		page, more, err := in.log.EntriesOf(t.Context(), tenant, filter, 0, 10)
		must(t, err)
		if len(page) != 1 || more || page[0].Sequence != 1 {
			t.Errorf("%+v: %v", filter, page)
		}
	}
	for _, c := range []struct {
		filter audit.Filter
		want   int
	}{
		{audit.Filter{}, 3}, {audit.Filter{Tenant: other}, 1}, {audit.Filter{Operator: "ada"}, 3}, {audit.Filter{Operator: "eve"}, 0},
		{audit.Filter{Operation: "createOperator"}, 1}, {audit.Filter{From: in.now.Add(-2 * time.Second)}, 2}, {audit.Filter{To: in.now.Add(-2 * time.Second)}, 1},
	} {
		page, _, err := in.log.Entries(t.Context(), c.filter, 0, 10)
		must(t, err)
		if len(page) != c.want {
			t.Errorf("%+v: %d entries, want %d", c.filter, len(page), c.want)
		}
	}
}

// The log is append-only to the roles that serve, however they go about it.
func TestGrants_NoServingRoleChangesTheLog(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.acts(t, 2)
	for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
		pool := in.databases.Router(t, role).Control()
		for _, statement := range []string{
			`UPDATE audit_log SET entry = '{}'`, `DELETE FROM audit_log`, `TRUNCATE audit_log`, `DROP TABLE audit_log`,
			`ALTER TABLE audit_log DISABLE ROW LEVEL SECURITY`, `SELECT sequence FROM audit_log FOR UPDATE`,
		} {
			err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				if _, err := tx.Exec(t.Context(), `SELECT enter_control($1)`, domain.TenantID{}); err != nil {
					t.Fatal(err)
				}
				_, err := tx.Exec(t.Context(), statement)
				return err
			})
			if err == nil {
				t.Errorf("%s may %s", role, statement)
			}
		}
	}
	if v := verify(t, in.export(t)); v.Fault != nil || v.Last != 4 {
		t.Errorf("%+v", v)
	}
}
