package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// ScaleOptions of a run.
type ScaleOptions struct {
	Environ  []string // the stack's settings
	Accounts int
	Log      io.Writer // of the processes it starts
}

// Stage is one part of a directory's life, and the most memory that the API has
// had at its end.
type Stage struct {
	What    string
	Count   int
	Elapsed time.Duration
	Memory  int64 // bytes resident; 0 where the system doesn't tell
}

// Rate is of accounts, a second.
func (s Stage) Rate() float64 { return float64(s.Count) / s.Elapsed.Seconds() }

const (
	scaleLines = 10_000 // a request of the import, the most that one may have
	deleters   = 32
)

// Scale takes a directory through its life: accounts are imported, listed, and
// deleted one by one. It fails if any is missing on the way, or if a claim is
// left at the end that is not of a quarantined handle.
func Scale(ctx context.Context, o ScaleOptions, told func(Stage)) error {
	s, err := newStack(ctx, o.Environ, deleters, o.Log)
	if err != nil {
		return err
	}
	defer s.close()
	told(Stage{What: "idle", Memory: s.api.usage().peak(), Elapsed: 1})
	var listed []listedAccount
	stages := []struct {
		what string
		do   func() (int, error)
	}{
		{"imported", func() (int, error) { return s.importAll(ctx, o.Accounts) }},
		{"listed", func() (n int, err error) { listed, err = s.listAll(ctx); return len(listed), err }},
		{"deleted", func() (int, error) { return s.deleteAll(ctx, listed) }},
	}
	for _, stage := range stages {
		began := time.Now()
		n, err := stage.do()
		if err != nil {
			return fmt.Errorf("%s: %w", stage.what, err)
		}
		if n != o.Accounts {
			return fmt.Errorf("%d accounts were %s, not %d", n, stage.what, o.Accounts)
		}
		told(Stage{stage.what, n, time.Since(began), s.api.usage().peak()})
	}
	return s.demandClaims(ctx, o.Accounts)
}

func (s *stack) importAll(ctx context.Context, accounts int) (created int, err error) {
	for from := 0; from < accounts; from += scaleLines {
		var file bytes.Buffer
		for i := from; i < min(from+scaleLines, accounts); i++ {
			fmt.Fprintf(&file, `{"key":"%d","account":{"handle":"scale-%d","email":"scale-%d@example.com","attributes":{"plan":"free"}}}`+"\n", i, i, i)
		}
		answer, err := s.tenant.send(ctx, "/v1/accounts/import", mediaLines, file.Bytes(), http.StatusOK)
		if err != nil {
			return created, err
		}
		created += bytes.Count(answer, []byte(`"created"`))
	}
	return created, nil
}

type listedAccount struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
}

func (s *stack) listAll(ctx context.Context) (all []listedAccount, err error) {
	for cursor := ""; ; {
		var page struct {
			Accounts   []listedAccount `json:"accounts"`
			NextCursor string          `json:"next_cursor"`
		}
		path := "/v1/accounts?limit=200"
		if cursor != "" {
			path += "&cursor=" + cursor
		}
		if err := s.tenant.call(ctx, http.MethodGet, path, nil, http.StatusOK, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Accounts...)
		if cursor = page.NextCursor; cursor == "" {
			return all, nil
		}
	}
}

func (s *stack) deleteAll(ctx context.Context, accounts []listedAccount) (int, error) {
	var deleted atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deleters)
	for _, a := range accounts {
		group.Go(func() error {
			request, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.tenant.base+"/v1/accounts/"+a.ID, nil)
			if err != nil {
				return err
			}
			request.Header.Set("Authorization", "Bearer "+s.tenant.token)
			request.Header.Set("If-Match", `"`+strconv.FormatInt(a.Revision, 10)+`"`)
			if err := s.tenant.do(request, http.StatusNoContent, nil); err != nil {
				return err
			}
			deleted.Add(1)
			return nil
		})
	}
	err := group.Wait()
	return int(deleted.Load()), err
}

const sqlClaimsLeft = `
SELECT count(*) FILTER (WHERE c.family = 'handle' AND a.status = 'deleted' AND a.handle_key = c.key AND a.handle_token = c.token), count(*)
  FROM claims c LEFT JOIN accounts a ON a.tenant_id = c.tenant_id AND a.account_id = c.owner_id`

// demandClaims counts what is left on the data database, which is to be one.
func (s *stack) demandClaims(ctx context.Context, accounts int) error {
	tx, err := s.owner.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // which puts row-level security back in force
	if _, err := tx.Exec(ctx, "ALTER TABLE claims NO FORCE ROW LEVEL SECURITY; ALTER TABLE accounts NO FORCE ROW LEVEL SECURITY"); err != nil {
		return err
	}
	var quarantined, all int
	err = tx.QueryRow(ctx, sqlClaimsLeft).Scan(&quarantined, &all)
	if err == nil && (quarantined != accounts || all != accounts) {
		err = fmt.Errorf("%d claims are left, %d of them of quarantined handles, and %d accounts were deleted", all, quarantined, accounts)
	}
	return err
}
