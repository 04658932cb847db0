package tenancy_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// notes is one data database behind a proxy, with a table of the test's own to
// try domain transactions on, and one tenant whose gate is open.
type notes struct {
	*testkit.Proxied
	db     *postgres.Database
	gates  *tenancy.Gates
	admin  *pgxpool.Pool // the superuser's, around the proxy
	tenant domain.TenantID
}

const sqlMakeNotes = `
CREATE TABLE notes (
    tenant_id uuid NOT NULL,
    number    smallint NOT NULL,
    text      text NOT NULL CHECK (text <> 'poison'),
    PRIMARY KEY (tenant_id, number, text)
);
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
ALTER TABLE notes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON notes USING (tenant_id = holdfast_tenant());
GRANT SELECT, INSERT, UPDATE ON notes TO holdfast_api`

func newNotes(t *testing.T) *notes {
	t.Helper()
	n := &notes{Proxied: testkit.Databases(t, 1).Through(t)}
	n.admin = n.Admin(t, "data1")
	n.exec(t, sqlMakeNotes)
	router := n.Router(t, postgres.RoleAPI)
	n.db, n.gates = router.Databases()[0], tenancy.NewGates(router)
	n.tenant = n.newTenant(t)
	return n
}

// newTenant is one whose gate is open.
func (n *notes) newTenant(t *testing.T) domain.TenantID {
	t.Helper()
	tenant := domain.NewID[domain.TenantKind](time.Now())
	must(t, n.gates.Set(t.Context(), tenant, gate("open", "open")))
	return tenant
}

func gate(state, identity string) tenancy.GateState {
	return tenancy.GateState{State: state, Layout: domain.Layout, IdentityState: identity}
}

// oneConnection makes the pool of one connection, so that whoever comes next
// gets the one that was just given back.
func (n *notes) oneConnection(t *testing.T) {
	t.Helper()
	settings := n.Settings(postgres.RoleAPI)
	settings.PoolSize = 1
	router, err := postgres.Open(t.Context(), settings)
	must(t, err)
	t.Cleanup(router.Close)
	n.db = router.Databases()[0]
}

// at is a transaction that writes in the numbers given.
func (n *notes) at(numbers ...domain.Number) tenancy.Entry {
	return tenancy.Entry{Tenant: n.tenant, Numbers: numbers, Purpose: tenancy.Serve}
}

const (
	sqlWriteNote = `INSERT INTO notes (tenant_id, number, text) VALUES ($1, $2, $3)`
	sqlReadNotes = `SELECT text FROM notes WHERE tenant_id = $1 AND number = $2 ORDER BY text`
)

// write leaves a note in number 7, with everything queued at once.
func (n *notes) write(ctx context.Context, text string) error {
	return tenancy.Run(ctx, n.db, n.at(7), func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlWriteNote, 7, text)
		return nil
	})
}

// read gives the notes of number 7 in a transaction that only reads.
func (n *notes) read(ctx context.Context) (texts []string, err error) {
	e := n.at(7)
	e.ReadOnly = true
	err = tenancy.Run(ctx, n.db, e, func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlReadNotes, 7).Query(collectInto(&texts))
		return nil
	})
	return texts, err
}

func collectInto(texts *[]string) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*texts, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	}
}

// written tells what stands there, whoever's it is.
func (n *notes) written(t *testing.T) []string {
	t.Helper()
	return rows(t, n.admin, pgx.RowTo[string], `SELECT text FROM notes ORDER BY text`)
}

// exec changes the data database as the superuser.
func (n *notes) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := n.admin.Exec(t.Context(), sql, args...)
	must(t, err)
}

// holds asks the superuser for the answer to a question.
func (n *notes) holds(t *testing.T, question string, args ...any) (answer bool) {
	t.Helper()
	must(t, n.admin.QueryRow(t.Context(), question, args...).Scan(&answer))
	return answer
}

// waitUntil asks until the answer is yes.
func (n *notes) waitUntil(t *testing.T, question string, args ...any) {
	t.Helper()
	eventually(t, func() bool { return n.holds(t, question, args...) })
}
