package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// pooledTenant is a tenant with a client at each API.
type pooledTenant struct {
	name    string
	clients []*holdfast.ClientWithResponses
}

const pooledWorld = "arena"

func newPooledTenant(t *testing.T, s *stack, apis []*running, name string) *pooledTenant {
	t.Helper()
	made := s.tenant(t, apis[0], name, tenancy.TenantScopes()...)
	tenant := &pooledTenant{name: name}
	for _, api := range apis {
		tenant.clients = append(tenant.clients, connect(t, api, made.key))
	}
	if _, err := tenant.client(0).CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: pooledWorld}); err != nil {
		t.Fatal(err)
	}
	if _, err := tenant.client(0).PutCollectionWithResponse(t.Context(), "orders", holdfast.PutCollectionJSONRequestBody{}); err != nil {
		t.Fatal(err)
	}
	return tenant
}

func (p *pooledTenant) client(n int) *holdfast.ClientWithResponses {
	return p.clients[n%len(p.clients)]
}

// callers are how many do the same at once.
const callers = 8

// race has callers create accounts with one email, each of which has one winner.
func (p *pooledTenant) race(ctx context.Context) error {
	for round := range 4 {
		var won atomic.Int32
		var work errgroup.Group
		for n := range callers {
			work.Go(func() error {
				_, err := p.client(n).CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{
					Handle: fmt.Sprintf("%s-%d-%d", p.name, round, n), Email: ptr(fmt.Sprintf("%d@example.com", round)), EmailVerified: ptr(true),
				})
				switch {
				case err == nil:
					won.Add(1)
				case !holdfast.IsCode(err, "email_taken"):
					return fmt.Errorf("create an account: %w", err)
				}
				return nil
			})
		}
		if err := work.Wait(); err != nil {
			return err
		}
		if won.Load() != 1 {
			return fmt.Errorf("%d callers have %d@example.com", won.Load(), round)
		}
	}
	return nil
}

const appends = 10 // a caller's

func (p *pooledTenant) append(ctx context.Context) error {
	var work errgroup.Group
	for n := range callers {
		work.Go(func() error {
			for i := range appends {
				_, err := p.client(n).AppendEntriesWithResponse(ctx, pooledWorld, nil, holdfast.NewEntries{Entries: []holdfast.NewEntry{
					{EntryID: fmt.Sprintf("%d-%d", n, i), JSON: fmt.Appendf(nil, "%q", p.name)},
				}})
				if err != nil {
					return fmt.Errorf("append: %w", err)
				}
			}
			return nil
		})
	}
	return work.Wait()
}

func (p *pooledTenant) publish(ctx context.Context) error {
	var work errgroup.Group
	for n := range callers {
		work.Go(func() error {
			_, err := p.client(n).PutRecordWithResponse(ctx, "orders", fmt.Sprint(n), &holdfast.PutRecordParams{IfNoneMatch: ptr("*")},
				holdfast.Publication{OperationID: fmt.Sprint("create ", n), Sections: &holdfast.Sections{"items": holdfast.SectionBody{Body: []byte(p.name)}}})
			if err != nil {
				return fmt.Errorf("publish: %w", err)
			}
			return nil
		})
	}
	return work.Wait()
}

// expectItsOwn reads all that the tenant has, and finds what it wrote.
func (p *pooledTenant) expectItsOwn(t *testing.T) {
	t.Helper()
	accounts, err := p.client(0).ListAccountsWithResponse(t.Context(), &holdfast.ListAccountsParams{Limit: ptr(int64(100))})
	if err != nil {
		t.Fatal(err)
	}
	won := map[string]bool{}
	for _, a := range accounts.JSON200.Accounts {
		if !strings.HasPrefix(a.Handle, p.name+"-") {
			t.Errorf("%s has the account %s", p.name, a.Handle)
		}
		won[*a.Email] = true
	}
	want := map[string]bool{"0@example.com": true, "1@example.com": true, "2@example.com": true, "3@example.com": true}
	if diff := cmp.Diff(want, won); diff != "" || len(accounts.JSON200.Accounts) != len(want) {
		t.Errorf("%s: %d accounts, and emails (-want +got)\n%s", p.name, len(accounts.JSON200.Accounts), diff)
	}
	world, err := p.client(1).GetWorldWithResponse(t.Context(), pooledWorld)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := world.JSON200.Position, int64(1+callers*appends); got != want {
		t.Errorf("%s: the journal's head is at %d, want %d", p.name, got, want)
	}
	for n := range callers {
		body, err := holdfast.ReadBody(t.Context(), p.client(n), "orders", fmt.Sprint(n), "items")
		if err != nil || string(body.Bytes) != p.name {
			t.Errorf("%s: record %d has %q (%v)", p.name, n, body.Bytes, err)
		}
	}
}
