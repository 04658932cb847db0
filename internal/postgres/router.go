package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The fixed roles. Each process connects as one of them.
const (
	RoleOwner   = "holdfast_owner"   // owns the schema; runs migrations and nothing else
	RoleAPI     = "holdfast_api"     // owns nothing; row-level security is forced on it
	RoleWorker  = "holdfast_worker"  // likewise, and may call the sweeps' functions
	RoleScanner = "holdfast_scanner" // can't log in; owns the sweeps' functions
)

// Settings say where the databases are and who connects.
type Settings struct {
	Control   string     // URL of the control database, without a user
	Data      []Location // the data databases
	Placement Placement  // which number lives on which of them
	Role      string     // one of the fixed roles
	Password  string
	PoolSize  int             // connections a database, at least 1
	Pooler    bool            // a transaction-mode pooler stands between: no prepared statements
	Tracer    pgx.QueryTracer // nil where nothing is traced
}

// Location is a named data database.
type Location struct {
	Name string
	URL  string // without a user
}

// Database is one data database and the numbers placed on it, ascending.
type Database struct {
	Name    string
	Pool    *pgxpool.Pool
	Turns   *Turns // at the pool, for what is a tenant's
	Numbers []domain.Number
	Pooled  bool // behind a transaction-mode pooler, where nobody can listen
}

// Router gives the database of a number.
type Router struct {
	control   *pgxpool.Pool
	databases []*Database
	placed    [domain.Numbers]*Database
	pooler    bool // a transaction-mode pooler stands between
}

// Open makes the pools. It connects to nothing yet: a database that is down is
// met by whoever needs it, and told by readyz.
func Open(ctx context.Context, s Settings) (*Router, error) {
	r := &Router{pooler: s.Pooler}
	control, err := openPool(ctx, s, s.Control)
	if err != nil {
		return nil, fmt.Errorf("control database: %w", err)
	}
	r.control = control
	for _, location := range s.Data {
		pool, err := openPool(ctx, s, location.URL)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("data database %s: %w", location.Name, err)
		}
		db := &Database{Name: location.Name, Pool: pool, Turns: NewTurns(int(pool.Config().MaxConns)), Pooled: s.Pooler}
		for n, name := range s.Placement {
			if name == location.Name {
				db.Numbers = append(db.Numbers, domain.Number(n))
				r.placed[n] = db
			}
		}
		r.databases = append(r.databases, db)
	}
	for n, db := range r.placed {
		if db == nil {
			r.Close()
			return nil, fmt.Errorf("number %d is placed on no database", n)
		}
	}
	return r, nil
}

func openPool(ctx context.Context, s Settings, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("the URL can't be read") // pgx's error repeats the URL
	}
	config.ConnConfig.User = s.Role
	config.ConnConfig.Password = s.Password
	config.ConnConfig.Tracer = s.Tracer
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	config.ConnConfig.RuntimeParams["application_name"] = s.Role
	config.MaxConns = int32(max(s.PoolSize, 1))
	if s.Pooler {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return pgxpool.NewWithConfig(ctx, config)
}

// Control is the control database's pool.
func (r *Router) Control() *pgxpool.Pool { return r.control }

// Databases are all data databases, in the order of the configuration.
func (r *Router) Databases() []*Database { return r.databases }

// Database gives the database of a number.
func (r *Router) Database(n domain.Number) *Database { return r.placed[n] }

// Named gives the database of a name, or nil.
func (r *Router) Named(name string) *Database {
	for _, db := range r.databases {
		if db.Name == name {
			return db
		}
	}
	return nil
}

// Close closes every pool.
func (r *Router) Close() {
	if r.control != nil {
		r.control.Close()
	}
	for _, db := range r.databases {
		db.Pool.Close()
	}
}
