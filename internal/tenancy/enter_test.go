package tenancy_test

import (
	"context"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	migrations "github.com/holdfast-dev/holdfast/db/migrations"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestEnter_EveryRefusalHasItsKindAndCode(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	open := n.at(7)
	stranger, suspended, closed, elsewhere, importing := open, open, open, open, open
	stranger.Tenant = domain.RandomID[domain.TenantKind]()
	suspended.Tenant = n.newTenant(t)
	closed.Tenant = n.newTenant(t)
	importing.Tenant = n.newTenant(t)
	importing.Layout = domain.Layout
	elsewhere.Layout = "v2-128-fresh"
	operators := open
	operators.Tenant = tenancy.Operators
	must(t, n.gates.Set(t.Context(), suspended.Tenant, gate("suspended", "open")))
	must(t, n.gates.Set(t.Context(), closed.Tenant, gate("closed", "open")))
	must(t, n.gates.Set(t.Context(), importing.Tenant, gate("open", "importing")))
	n.exec(t, `UPDATE number_gates SET state = 'closed' WHERE number = 8`)
	n.exec(t, `DELETE FROM number_gates WHERE number = 9`)
	n.exec(t, `UPDATE number_gates SET record_format = 3 WHERE number = 10`)
	n.exec(t, `UPDATE number_gates SET lease_rules = 2 WHERE number = 11`)
	moving := n.at(7)
	moving.Purpose = tenancy.Move

	cases := []struct {
		name  string
		entry tenancy.Entry
		kind  domain.Kind
		code  string
	}{
		{"a tenant that has no gate here", stranger, domain.KindForbidden, "tenant_closed"},
		{"the operators, who are no tenant", operators, domain.KindForbidden, "tenant_closed"},
		{"a suspended tenant", suspended, domain.KindForbidden, "tenant_suspended"},
		{"a closed tenant", closed, domain.KindForbidden, "tenant_closed"},
		{"another layout", elsewhere, domain.KindForbidden, "layout_unknown"},
		{"serving a namespace that is importing", importing, domain.KindForbidden, "namespace_importing"},
		{"a closed number", n.at(8), domain.KindUnavailable, "partition_unavailable"},
		{"a closed number among open ones", n.at(7, 8, 12), domain.KindUnavailable, "partition_unavailable"},
		{"a number of another database", n.at(9), domain.KindUnavailable, "partition_unavailable"},
		{"a number of another database among others", n.at(7, 9), domain.KindUnavailable, "partition_unavailable"},
		{"moving a number that is open", moving, domain.KindUnavailable, "partition_unavailable"},
		{"a record format that this process doesn't know", n.at(10), domain.KindUnavailable, "process_outdated"},
		{"lease rules that this process doesn't know", n.at(7, 11), domain.KindUnavailable, "process_outdated"},
	}
	for _, c := range cases {
		ways := map[string]func() error{
			"before the commit": func() error {
				return tenancy.Run(t.Context(), n.db, c.entry, func(ctx context.Context, tx *tenancy.Tx) error {
					tx.Queue(sqlWriteNote, 7, "refused")
					err := tx.Send(ctx)
					if err == nil {
						t.Errorf("%s: a Send passed", c.name)
					}
					return err
				})
			},
			"with the commit": func() error { return enter(t.Context(), n, c.entry) },
			"with a reader's commit": func() error {
				reader := c.entry
				reader.ReadOnly = true
				return enter(t.Context(), n, reader)
			},
		}
		for way, run := range ways {
			err := run()
			known, pg := new(domain.Error), new(pgconn.PgError)
			if !errors.As(err, &known) || known.Kind != c.kind || known.Code != c.code {
				t.Errorf("%s, refused %s: %v, want %v %s", c.name, way, err, c.kind, c.code)
				continue
			}
			if retryable := c.kind == domain.KindUnavailable; (known.RetryAfter > 0) != retryable {
				t.Errorf("%s: retry after %v", c.name, known.RetryAfter)
			}
			if !errors.As(err, &pg) || strings.Contains(known.Detail, pg.Message) {
				t.Errorf("%s: the caller is told %q, and the log %v", c.name, known.Detail, err)
			}
		}
	}
	if got := n.written(t); len(got) > 0 {
		t.Errorf("refused transactions wrote %q", got)
	}
	must(t, enter(t.Context(), n, n.at(7, 12)))
	must(t, enter(t.Context(), n, n.at()))
}

// enter does nothing in a transaction.
func enter(ctx context.Context, n *notes, e tenancy.Entry) error {
	return tenancy.Run(ctx, n.db, e, func(context.Context, *tenancy.Tx) error { return nil })
}

// admission is a row of the table that the last migration of enter has in its
// comment: which states of each gate admit a purpose.
type admission struct {
	purpose                  tenancy.Purpose
	tenant, number, identity []string // nil for any
}

func (a admission) admits(tenant, number, identity string, touchesIdentity bool) bool {
	admits := func(states []string, state string) bool { return states == nil || slices.Contains(states, state) }
	return admits(a.tenant, tenant) && admits(a.number, number) && (!touchesIdentity || admits(a.identity, identity))
}

// admissions reads the table, so that it says what enter does.
func admissions(t *testing.T) (all []admission) {
	t.Helper()
	source, err := fs.ReadFile(migrations.Data, "data/00006_maintenance.sql")
	must(t, err)
	gap := regexp.MustCompile(` {2,}`)
	states := func(column string) []string {
		if column == "any" {
			return nil
		}
		return strings.Split(column, ", ")
	}
	_, table, _ := strings.Cut(string(source), "--   purpose ")
	for line := range strings.Lines(table) {
		columns := gap.Split(strings.TrimSpace(strings.TrimPrefix(line, "--")), -1)
		switch {
		case strings.TrimSpace(line) == "--":
			return all
		case len(columns) == 4 && columns[0] != "tenant gate":
			all = append(all, admission{tenancy.Purpose(columns[0]), states(columns[1]), states(columns[2]), states(columns[3])})
		}
	}
	return all
}

func TestEnter_AdmitsWhatItsTableSays(t *testing.T) {
	t.Parallel()
	n := newNotes(t)
	table := admissions(t)
	if len(table) != 4 {
		t.Fatalf("the migration's table is read as %+v", table)
	}
	for _, row := range table {
		for _, number := range []string{"open", "closed"} {
			n.exec(t, `UPDATE number_gates SET state = $1 WHERE number = 7`, number)
			for _, tenant := range []string{"absent", "open", "suspended", "closed"} {
				for _, identity := range []string{"open", "importing"} {
					n.setTenantGate(t, tenant, identity)
					for _, layout := range []string{"", domain.Layout} {
						e := n.at(7)
						e.Purpose, e.Layout = row.purpose, layout
						err := enter(t.Context(), n, e)
						if want := row.admits(tenant, number, identity, layout != ""); (err == nil) != want {
							t.Errorf("%s, layout %q, of a tenant %s, a number %s, an identity %s: %v, want it admitted: %v",
								row.purpose, layout, tenant, number, identity, err, want)
						}
					}
				}
			}
		}
	}
}

// setTenantGate puts the gate of the test's tenant into a state, or takes it
// away.
func (n *notes) setTenantGate(t *testing.T, state, identity string) {
	t.Helper()
	n.exec(t, `DELETE FROM tenant_gates WHERE tenant_id = $1`, n.tenant)
	if state != "absent" {
		must(t, n.gates.Set(t.Context(), n.tenant, gate(state, identity)))
	}
}
