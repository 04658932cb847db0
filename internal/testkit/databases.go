package testkit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Installation is a control database and its data databases, "data1" and so
// on, with the numbers spread over them in equal runs.
type Installation struct {
	server    server
	control   string            // the database's name on the server
	data      []string          // likewise
	elsewhere map[string]server // those of data that are on other servers
}

// Databases gives the test an installation of its own: a control database and
// n data databases (1 to 64), migrated, with every number open. They are
// dropped when the test ends, whoever is still connected.
func Databases(t testing.TB, n int) *Installation {
	t.Helper()
	return own(t, func(ctx context.Context, s server) (*Installation, error) { return s.clone(ctx, n) })
}

// EmptyDatabases likewise gives databases that the owner owns and that nothing
// was done to: for tests of what makes the schema.
func EmptyDatabases(t testing.TB, n int) *Installation {
	t.Helper()
	return own(t, func(ctx context.Context, s server) (*Installation, error) { return s.create(ctx, n) })
}

func own(t testing.TB, make func(context.Context, server) (*Installation, error)) *Installation {
	t.Helper()
	installation, err := make(t.Context(), connectServer(t))
	// What was made is dropped, even if not all could be.
	t.Cleanup(func() {
		if err := installation.drop(); err != nil {
			t.Errorf("drop the test's databases: %v", err)
		}
	})
	if err != nil {
		t.Fatalf("make the test's databases: %v", err)
	}
	return installation
}

// clone copies the templates of n data databases. The installation that it
// returns with an error has what was made.
func (s server) clone(ctx context.Context, n int) (*Installation, error) {
	templates, err := s.templates(n)
	if err != nil {
		return &Installation{server: s}, err
	}
	return s.install(ctx, templates, templates.control, templates.data)
}

// create makes empty databases. The roles are there, since another test may
// make them at any time.
func (s server) create(ctx context.Context, n int) (*Installation, error) {
	templates, err := s.templates(n)
	if err != nil {
		return &Installation{server: s}, err
	}
	return s.install(ctx, templates, "template1", slices.Repeat([]string{"template1"}, n))
}

// install makes an installation of databases that are copies of others.
func (s server) install(ctx context.Context, templates templates, control string, data []string) (*Installation, error) {
	installation := &Installation{server: s}
	admin, err := s.connect(ctx)
	if err != nil {
		return installation, err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	if err := templates.ensure(ctx, admin); err != nil {
		return installation, fmt.Errorf("templates: %w", err)
	}
	// Copying files costs two checkpoints, which are cheap without durability,
	// and spares the write-ahead log all of the template.
	create := func(database, template string) error {
		_, err := admin.Exec(ctx, "CREATE DATABASE "+database+" OWNER holdfast_owner TEMPLATE "+template+" STRATEGY file_copy")
		return err
	}
	prefix := "hf_" + strings.ToLower(rand.Text()[:12])
	if err := create(prefix+"_control", control); err != nil {
		return installation, err
	}
	installation.control = prefix + "_control"
	for i, template := range data {
		database := fmt.Sprintf("%s_data%d", prefix, i+1)
		if err := create(database, template); err != nil {
			return installation, err
		}
		installation.data = append(installation.data, database)
	}
	return installation, nil
}

func (in *Installation) drop() error {
	if in.control == "" {
		return nil
	}
	ctx := context.Background() // the test's is done
	admin, err := in.server.connect(ctx)
	if err != nil {
		return err
	}
	defer admin.Close(ctx)
	var failed []error
	for _, database := range append([]string{in.control}, in.data...) {
		_, err := admin.Exec(ctx, "DROP DATABASE "+database+" WITH (FORCE)")
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// Settings connect as one of the fixed roles.
func (in *Installation) Settings(role string) postgres.Settings {
	s := postgres.Settings{
		Control:  in.server.plainURL(in.control),
		Role:     role,
		Password: in.server.password(role),
		PoolSize: 4,
	}
	var names []string
	for i, database := range in.data {
		name := fmt.Sprintf("data%d", i+1)
		names = append(names, name)
		s.Data = append(s.Data, postgres.Location{Name: name, URL: in.serverOf(database).plainURL(database)})
	}
	s.Placement = postgres.Spread(names...)
	if len(in.elsewhere) > 0 {
		s.Placement = postgres.PlaceAll(names[0])
	}
	return s
}

// Router connects as one of the fixed roles, until the test ends.
func (in *Installation) Router(t testing.TB, role string) *postgres.Router {
	t.Helper()
	return openRouter(t, in.Settings(role))
}

func openRouter(t testing.TB, settings postgres.Settings) *postgres.Router {
	t.Helper()
	router, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closePools(t, router.Close) })
	return router
}

// Admin connects to a database ("control", "data1", …) as the superuser, who
// sees all tenants' rows, until the test ends.
func (in *Installation) Admin(t testing.TB, name string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), in.AdminURL(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closePools(t, pool.Close) })
	return pool
}

// AdminURL is the superuser's URL of a database ("control", "data1", …).
func (in *Installation) AdminURL(t testing.TB, name string) string {
	t.Helper()
	if name == "control" {
		return in.server.adminURL(in.control)
	}
	i := slices.IndexFunc(in.data, func(database string) bool { return strings.HasSuffix(database, "_"+name) })
	if i < 0 {
		t.Fatalf("the test has no database %q", name)
	}
	return in.serverOf(in.data[i]).adminURL(in.data[i])
}
