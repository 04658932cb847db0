package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/launch"
)

// Options of a run.
type Options struct {
	Environ []string      // the stack's settings
	Rounds  int           // that count; each measures both sides
	Length  time.Duration // of one side of a round; whole seconds
	Readers int           // accounts to read from
	Only    string        // measures only what has this in its name; "" for all
	Profile string        // a folder for CPU profiles of the API, one a comparison; "" for none
	Log     io.Writer     // of the processes it starts
	Note    func(format string, args ...any)
}

const (
	creators = 64
	readers  = 32
	changers = 64
	pollers  = 64
)

// Identity measures what applications do most beside what each is compared with.
func Identity(ctx context.Context, o Options) ([]Outcome, error) {
	s, err := newStack(ctx, o.Environ, creators, o.Log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	o.Note("making %d accounts to read from", o.Readers)
	ids, err := s.fill(ctx, o.Readers)
	if err != nil {
		return nil, err
	}
	bareServer, err := launch.Start(ctx, []string{"holdfast", "bench", "reference-server"}, nil, o.Log)
	if err != nil {
		return nil, err
	}
	defer bareServer.Stop()
	reference := newClient("http://"+bareServer.Address, readers)
	referenceIDs, err := s.referenceIDs(ctx, o.Readers)
	if err != nil {
		return nil, err
	}
	bare := get(reference, func(i int) string { return "/reference/" + referenceIDs[i%len(referenceIDs)] })
	devices, err := s.authorize(ctx, pollers*16)
	if err != nil {
		return nil, err
	}
	comparisons := []Comparison{
		{
			What: "create account", AtLeast: 0.3,
			Product:   fmt.Sprintf("POST /v1/accounts with handle and email, %d callers, one tenant", creators),
			Reference: fmt.Sprintf("pgbench, one insert with two unique indexes a transaction, %d clients", creators),
			product:   s.create(), reference: s.pgbench(pgbenchScript, creators),
		},
		{
			What: "look up by handle", AtLeast: 0.5,
			Product:   fmt.Sprintf("POST /v1/accounts/lookup, %d callers", readers),
			Reference: fmt.Sprintf("a bare Echo handler with one read by primary key, %d callers", readers),
			product:   s.lookup(o.Readers), reference: bare,
		},
		{
			What:      "read by id",
			Product:   fmt.Sprintf("GET /v1/accounts/{account_id}, %d callers", readers),
			Reference: "the same bare handler",
			product:   get(s.tenant, func(i int) string { return "/v1/accounts/" + ids[i%len(ids)] }), reference: bare,
		},
		{
			What:      "import account",
			Product:   fmt.Sprintf("POST /v1/accounts/import, %d lines a request, %d callers, one tenant", importLines, importers),
			Reference: fmt.Sprintf("the same pgbench insert, %d clients", creators),
			product:   s.importing(), reference: s.pgbench(pgbenchScript, creators),
		},
		{
			What:      "change email",
			Product:   fmt.Sprintf("begin and confirm, two requests a change, %d callers", changers),
			Reference: fmt.Sprintf("pgbench, one update of a unique column a transaction, %d clients", changers),
			product:   s.changeEmail(ids), reference: s.pgbench(pgbenchChange(o.Readers), changers),
		},
		{
			What:      "poll device",
			Product:   fmt.Sprintf("POST /v1/oauth/token for %d pending devices, %d callers", len(devices), pollers),
			Reference: fmt.Sprintf("a bare Echo handler with one update by primary key that doesn't wait for the disk, %d callers", pollers),
			product:   s.poll(devices), reference: touch(newClient(reference.base, pollers), referenceIDs),
		},
	}
	var outcomes []Outcome
	for _, c := range comparisons {
		if !strings.Contains(c.What, o.Only) {
			continue
		}
		o.Note("measuring: %s", c.What)
		var cost Cost
		c.product = s.counted(c.product, &cost)
		if o.Profile != "" {
			c.product = s.profiled(c.product, filepath.Join(o.Profile, strings.ReplaceAll(c.What, " ", "-")+".pprof"))
		}
		outcome, err := c.run(ctx, o.Rounds, o.Length)
		if err != nil {
			return outcomes, err
		}
		outcome.Cost = cost
		outcomes = append(outcomes, outcome)
	}
	return outcomes, nil
}

// newAccount is a creation's body. Each n gives an account of its own.
func newAccount(prefix string, n int64) []byte {
	name := prefix + strconv.FormatInt(n, 10)
	return []byte(`{"handle":"` + name + `","email":"` + name + `@example.com","email_verified":true,"display_name":"A person"}`)
}

func (s *stack) create() round {
	var n atomic.Int64
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, creators, length, func(ctx context.Context, _ int) error {
			return s.tenant.call(ctx, http.MethodPost, "/v1/accounts", newAccount("person-", n.Add(1)), http.StatusCreated, nil)
		})
	}
}

func (s *stack) lookup(accounts int) round {
	var n atomic.Int64
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, readers, length, func(ctx context.Context, _ int) error {
			body := []byte(`{"handle":"reader-` + strconv.FormatInt(n.Add(1)*7919%int64(accounts), 10) + `"}`)
			return s.tenant.call(ctx, http.MethodPost, "/v1/accounts/lookup", body, http.StatusOK, nil)
		})
	}
}

func get(c *client, path func(i int) string) round {
	var n atomic.Int64
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, readers, length, func(ctx context.Context, _ int) error {
			return c.call(ctx, http.MethodGet, path(int(n.Add(1)*7919)), nil, http.StatusOK, nil)
		})
	}
}

// fill makes the accounts that are read, and the reference's rows.
func (s *stack) fill(ctx context.Context, n int) ([]string, error) {
	ids := make([]string, n)
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range n {
		group.Go(func() error {
			var account struct {
				ID string `json:"id"`
			}
			err := s.tenant.call(groupCtx, http.MethodPost, "/v1/accounts", newAccount("reader-", int64(i)), http.StatusCreated, &account)
			ids[i] = account.ID
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		sql  string
		args []any
	}{{sqlDropReference, nil}, {sqlReference, nil}, {sqlFillReference, []any{n - 1}}} {
		if _, err := s.owner.Exec(ctx, step.sql, step.args...); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

func (s *stack) referenceIDs(ctx context.Context, n int) ([]string, error) {
	rows, _ := s.owner.Query(ctx, sqlReferenceIDs, n)
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
