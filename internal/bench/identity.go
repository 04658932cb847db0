package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// IdentityOptions of a run.
type IdentityOptions struct {
	Options
	Accounts int // to read from
}

const (
	creators = 64
	readers  = 32
	changers = 64
	pollers  = 64
)

// Identity measures what applications do most with accounts and devices beside
// what each is compared with.
func Identity(ctx context.Context, o IdentityOptions) ([]Outcome, error) {
	if err := o.verify(); err != nil {
		return nil, err
	}
	s, err := newStack(ctx, o.Environ, creators, o.Log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	o.Note("making %d accounts to read from", o.Accounts)
	ids, err := s.fill(ctx, o.Accounts)
	if err != nil {
		return nil, err
	}
	bareServer, err := startReference(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	defer bareServer.Stop()
	bare := newClient("http://"+bareServer.Address, readers)
	referenceIDs, err := s.referenceIDs(ctx, o.Accounts)
	if err != nil {
		return nil, err
	}
	devices, err := s.authorize(ctx, pollers*16)
	if err != nil {
		return nil, err
	}
	oneRead := get(bare, func(i int) string { return "/reference/" + referenceIDs[i%len(referenceIDs)] })
	oneUpdate := touch(newClient(bare.base, pollers), referenceIDs)
	return o.measure(ctx, s, []Comparison{
		{
			What:       "create account",
			Product:    fmt.Sprintf("POST /v1/accounts with handle and email, %d callers, one tenant", creators),
			product:    s.create(),
			References: against("pgbench insert", fmt.Sprintf("pgbench, one insert with two unique indexes a transaction, %d clients", creators), 0.3, s.pgbench(pgbenchScript, creators)),
		},
		{
			What:       "look up by handle",
			Product:    fmt.Sprintf("POST /v1/accounts/lookup, %d callers", readers),
			product:    s.lookup(o.Accounts),
			References: against("bare read", fmt.Sprintf("a bare Echo handler with one read by primary key, %d callers", readers), 0.5, oneRead),
		},
		{
			What:       "read by id",
			Product:    fmt.Sprintf("GET /v1/accounts/{account_id}, %d callers", readers),
			product:    get(s.tenant, func(i int) string { return "/v1/accounts/" + ids[i%len(ids)] }),
			References: against("bare read", "the same bare handler", 0, oneRead),
		},
		{
			What:       "import account",
			Product:    fmt.Sprintf("POST /v1/accounts/import, %d lines a request, %d callers, one tenant", importLines, importers),
			product:    s.importing(),
			References: against("pgbench insert", fmt.Sprintf("the same pgbench insert, %d clients", creators), 0, s.pgbench(pgbenchScript, creators)),
		},
		{
			What:       "change email",
			Product:    fmt.Sprintf("begin and confirm, two requests a change, %d callers", changers),
			product:    s.changeEmail(ids),
			References: against("pgbench update", fmt.Sprintf("pgbench, one update of a unique column a transaction, %d clients", changers), 0, s.pgbench(pgbenchChange(o.Accounts), changers)),
		},
		{
			What:       "poll device",
			Product:    fmt.Sprintf("POST /v1/oauth/token for %d pending devices, %d callers", len(devices), pollers),
			product:    s.poll(devices),
			References: against("bare update", fmt.Sprintf("a bare Echo handler with one update by primary key that doesn't wait for the disk, %d callers", pollers), 0, oneUpdate),
		},
	})
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
