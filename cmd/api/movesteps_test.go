package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	moves "github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/schema"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// relocation takes the steps of docs/fleet.md: the commands by the functions that they
// call, and the superusers' statements by the very files.
type relocation struct {
	installation *testkit.Installation
	router       *postgres.Router // the owner's, with the placement of now
	numbers      []domain.Number
	placement    string // HOLDFAST_PLACEMENT once the numbers have moved
	after        postgres.Settings
}

// moved are the numbers that leave data1 for data2.
const movedNumbers = "0-15,40-55"

func newRelocation(t *testing.T, installation *testkit.Installation) *relocation {
	t.Helper()
	numbers, err := postgres.ParseNumbers(movedNumbers)
	if err != nil {
		t.Fatal(err)
	}
	m := &relocation{
		installation: installation,
		router:       installation.Router(t, postgres.RoleOwner),
		numbers:      numbers,
		placement:    "data1=16-39,56-63 data2=" + movedNumbers,
		after:        installation.Settings(postgres.RoleOwner),
	}
	if m.after.Placement, err = postgres.ParsePlacement(m.placement, []string{"data1", "data2"}); err != nil {
		t.Fatal(err)
	}
	return m
}

// addDatabase makes data2's schema.
func (m *relocation) addDatabase(t *testing.T) {
	t.Helper()
	passwords := postgres.Passwords{API: m.installation.Settings(postgres.RoleAPI).Password, Worker: m.installation.Settings(postgres.RoleWorker).Password}
	if err := schema.Up(t.Context(), m.router, passwords, func(string, string) {}); err != nil {
		t.Fatal(err)
	}
}

func (m *relocation) move(t *testing.T) moves.Move {
	t.Helper()
	move, err := moves.NewMove(m.router, m.numbers, "data1", "data2")
	if err != nil {
		t.Fatal(err)
	}
	return move
}

// copy has data2 copy and follow the numbers.
func (m *relocation) copy(t *testing.T) {
	t.Helper()
	if err := moves.Prepare(t.Context(), m.router, m.move(t)); err != nil {
		t.Fatal(err)
	}
	const password = "it's a secret"
	m.statements(t, "data1", "mover", map[string]string{"password": password})
	m.statements(t, "data2", "subscribe", map[string]string{"source": moverAddress(t, m.installation.AdminURL(t, "data1"), password)})
	t.Cleanup(func() { // of a test that failed on the way: a server ends only when nobody replicates from it
		pool, err := pgxpool.New(context.Background(), m.installation.AdminURL(t, "data2"))
		if err == nil {
			pool.Exec(context.Background(), "DROP SUBSCRIPTION IF EXISTS holdfast_move")
			pool.Close()
		}
	})
	m.await(t)
}

func (m *relocation) await(t *testing.T) {
	t.Helper()
	if err := moves.Await(t.Context(), m.move(t), func(moves.Progress) {}); err != nil {
		t.Fatal(err)
	}
}

// arrive ends the copying and opens the numbers on data2.
func (m *relocation) arrive(t *testing.T) {
	t.Helper()
	m.await(t)
	m.router = openRouter(t, m.after)
	var refused moves.RefusedError
	if _, err := moves.Open(t.Context(), m.router, m.numbers); !errors.As(err, &refused) {
		t.Errorf("while replication may still write there, opening says %v", err)
	}
	m.statements(t, "data2", "unsubscribe", nil)
	compared, err := moves.Open(t.Context(), m.router, m.numbers)
	if err != nil {
		t.Fatalf("%v: %+v", err, compared)
	}
	if len(compared) != 1 || compared[0].Rows == 0 || compared[0].Tables < 20 {
		t.Errorf("it compared %+v", compared)
	}
}

// clean removes from data1 what has moved.
func (m *relocation) clean(t *testing.T) {
	t.Helper()
	removed := int64(0)
	err := moves.Clean(t.Context(), m.router, m.router.Named("data1"), m.numbers, func(_ string, rows int64) { removed += rows })
	if err != nil || removed == 0 {
		t.Fatalf("%d rows were removed, %v", removed, err)
	}
	m.statements(t, "data1", "remove-mover", nil)
}

// statements runs a file of deploy/fleet as psql does, with its variables.
func (m *relocation) statements(t *testing.T, database, file string, variables map[string]string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/fleet/" + file + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	sql := string(text)
	for name, value := range variables {
		sql = strings.ReplaceAll(sql, ":'"+name+"'", "'"+strings.ReplaceAll(value, "'", "''")+"'")
	}
	conn, err := pgx.Connect(t.Context(), m.installation.AdminURL(t, database))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s on %s: %v", file, database, err)
	}
}

// moverAddress is how data2's server connects to data1.
func moverAddress(t *testing.T, admin, password string) string {
	t.Helper()
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	return "host=" + u.Hostname() + " port=" + u.Port() + " dbname=" + strings.TrimPrefix(u.Path, "/") +
		" user=holdfast_mover password='" + strings.ReplaceAll(password, "'", `\'`) + "'"
}

func openRouter(t *testing.T, settings postgres.Settings) *postgres.Router {
	t.Helper()
	router, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(router.Close)
	return router
}
