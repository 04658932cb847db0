package httpapi

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// fakeCoordinator answers with one world, which a node holds, or with err, or does
// what act says.
type fakeCoordinator struct {
	err error
	act func(context.Context) error
	got any // what the last call was asked

	worlds  lease.WorldPage
	hosted  bool // the coordinator holds the world
	receipt lease.Receipt
	refusal *domain.Error
	renewed []lease.Renewed
	entries func(after int64, limit int) (lease.EntryPage, error)
}

var (
	theNode = journal.Actor{Type: journal.ActorPrincipal, Issuer: journal.HoldfastIssuer, Subject: "node-1"}
	theHash = journal.Hash{0xab, 31: 0xcd}
)

const (
	theHashText = "ab000000000000000000000000000000000000000000000000000000000000cd"
	theNodeText = `{"issuer":"holdfast","subject":"node-1","type":"principal"}`
)

func (f *fakeCoordinator) called(ctx context.Context, got any) error {
	f.got = got
	if f.act != nil {
		return f.act(ctx)
	}
	return f.err
}

func (f *fakeCoordinator) holder() journal.Actor {
	if f.hosted {
		return journal.Coordinator
	}
	return theNode
}

func (f *fakeCoordinator) world() lease.World {
	return lease.World{ID: "north-7", CreatedAt: verifiedAt, Position: 17, Epoch: 2, Holder: f.holder(), Policy: lease.Policy{AdviseSpill: true}}
}

func (f *fakeCoordinator) state() lease.State {
	s := lease.State{World: "north-7", Now: verifiedAt, State: journal.State{
		Position: 17, Epoch: 2, Holder: f.holder(), Activated: true, GrantedPosition: 12, RenewedPosition: 15, WrittenPosition: 14, Hash: theHash,
	}}
	if !f.hosted {
		s.TermSeconds, s.ExpiresAt, s.ActivateBy = 30, verifiedAt.Add(30*time.Second), verifiedAt.Add(time.Minute)
		s.Remaining = 29_998_999_999 // nanoseconds
	}
	return s
}

type askedWorld struct {
	ID     string
	Policy lease.Policy
}

func (f *fakeCoordinator) CreateWorld(ctx context.Context, _ tenancy.Scope, id string, policy lease.Policy) (lease.World, error) {
	return f.world(), f.called(ctx, askedWorld{id, policy})
}

type askedPage struct {
	After string
	Limit int
}

func (f *fakeCoordinator) Worlds(ctx context.Context, _ tenancy.Scope, after string, limit int) (lease.WorldPage, error) {
	return f.worlds, f.called(ctx, askedPage{after, limit})
}

func (f *fakeCoordinator) World(ctx context.Context, _ tenancy.Scope, id string) (lease.World, error) {
	return f.world(), f.called(ctx, id)
}

func (f *fakeCoordinator) RetireWorld(ctx context.Context, _ tenancy.Scope, id string) error {
	return f.called(ctx, "retire "+id)
}

// looked is at a lease, of now if Position is 0.
type looked struct {
	Operator bool
	Tenant   domain.TenantID
	World    string
	Position int64
}

func (f *fakeCoordinator) Lease(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string) (lease.State, error) {
	return f.state(), f.called(ctx, looked{scope.IsOperator(), tenant, world, 0})
}

func (f *fakeCoordinator) LeaseAt(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string, position int64) (lease.Proof, error) {
	return lease.Proof{Position: position, Epoch: 2, Holder: theNode, Entry: theEntry(12)}, f.called(ctx, looked{scope.IsOperator(), tenant, world, position})
}

// theEntry is a tenant's at a position, of a time that ends in zeros.
func theEntry(position int64) journal.Entry {
	return journal.Entry{
		Position: position, Epoch: 2, Kind: journal.KindEntry, Actor: theNode, At: time.Date(2026, 11, 30, 12, 0, 0, 250e6, time.UTC),
		Details: []byte(`{"format":"bytes"}`), Payload: []byte("hi"), Hash: theHash,
	}
}

func (f *fakeCoordinator) Acquire(ctx context.Context, _ tenancy.Scope, world string, req lease.Acquire) (lease.Grant, error) {
	return lease.Grant{
		World: world, Epoch: 2, Secret: "s3cret", HandoffPosition: 12, ActivateBy: verifiedAt.Add(time.Minute), ExpiresAt: verifiedAt,
		Term: 30 * time.Second, Remaining: 29_999_999_999,
	}, f.called(ctx, req)
}

type presented struct {
	World     string
	Authority lease.Authority
	Rest      any
}

func (f *fakeCoordinator) Activate(ctx context.Context, _ tenancy.Scope, world string, a lease.Authority, replayed int64, hash journal.Hash) (lease.State, error) {
	return f.state(), f.called(ctx, presented{world, a, []any{replayed, hash}})
}

func (f *fakeCoordinator) Renew(ctx context.Context, _ tenancy.Scope, world string, a lease.Authority) (lease.Renewal, error) {
	return lease.Renewal{World: world, Epoch: a.Epoch, ExpiresAt: verifiedAt, Term: 30 * time.Second, Remaining: 1_999_999}, f.called(ctx, presented{world, a, nil})
}

func (f *fakeCoordinator) RenewAll(ctx context.Context, _ tenancy.Scope, all []lease.Renew) ([]lease.Renewed, error) {
	return f.renewed, f.called(ctx, all)
}

func (f *fakeCoordinator) HandOff(ctx context.Context, _ tenancy.Scope, world string, a lease.Authority, to string) (lease.HandedOff, error) {
	return lease.HandedOff{World: world, Position: 18, Epoch: 3, To: journal.Coordinator}, f.called(ctx, presented{world, a, to})
}

type revoked struct {
	Operator bool
	Tenant   domain.TenantID
	World    string
	Revoke   lease.Revoke
}

func (f *fakeCoordinator) Revoke(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, world string, req lease.Revoke) (lease.HandedOff, error) {
	return lease.HandedOff{World: world, Position: 18, Epoch: 3, To: journal.Coordinator}, f.called(ctx, revoked{scope.IsOperator(), tenant, world, req})
}

type appended struct {
	World     string
	Authority *lease.Authority
	Append    lease.Append
}

func (f *fakeCoordinator) Append(ctx context.Context, _ tenancy.Scope, world string, a *lease.Authority, req lease.Append) (lease.Receipt, error) {
	return f.receipt, f.called(ctx, appended{world, a, req})
}

func (f *fakeCoordinator) CheckAppend(ctx context.Context, _ tenancy.Scope, world string, a *lease.Authority) (lease.Verdict, error) {
	return lease.Verdict{Accepted: f.refusal == nil, Refusal: f.refusal, State: f.state()}, f.called(ctx, appended{World: world, Authority: a})
}

type askedEntries struct {
	After int64
	Limit int
}

func (f *fakeCoordinator) Entries(ctx context.Context, _ tenancy.Scope, _ string, after int64, limit int) (lease.EntryPage, error) {
	if err := f.called(ctx, askedEntries{after, limit}); err != nil || f.entries == nil {
		return lease.EntryPage{}, err
	}
	return f.entries(after, limit)
}
