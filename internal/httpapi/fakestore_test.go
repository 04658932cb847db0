package httpapi

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// fakeStore answers lists with nothing and everything else with zero values.
type fakeStore struct {
	Administration // what a test doesn't need panics
	got            any
	known          tenancy.Tenant // the only one that is there
	opened         bool
	format         int16 // that was set, 0 for none
	fixed          bool  // the format
}

func (f *fakeStore) Tenant(_ context.Context, _ tenancy.Scope, id domain.TenantID) (tenancy.Tenant, error) {
	if id != f.known.ID {
		return tenancy.Tenant{}, domain.NotFound("tenant_not_found", "There is no tenant of that id.")
	}
	return f.known, nil
}

func (f *fakeStore) DemandTenant(ctx context.Context, caller tenancy.Scope, _ string, id domain.TenantID) error {
	_, err := f.Tenant(ctx, caller, id)
	return err
}

func (f *fakeStore) OpenIdentity(_ context.Context, _ tenancy.Scope, id domain.TenantID) (tenancy.Tenant, error) {
	f.opened = true
	return tenancy.Tenant{ID: id, Revision: 2, IdentityState: tenancy.IdentityOpen}, nil
}

func (f *fakeStore) SetRecordFormat(_ context.Context, _ tenancy.Scope, id domain.TenantID, format int16) (tenancy.Tenant, error) {
	f.format = format
	if f.fixed {
		return tenancy.Tenant{}, domain.Conflict("record_format_fixed", "It can't be taken back.").At("/record_format")
	}
	return tenancy.Tenant{ID: id, Revision: 3, RecordFormat: format}, nil
}

func (f *fakeStore) CreateTenant(_ context.Context, _ tenancy.Scope, want tenancy.NewTenant) (tenancy.Tenant, bool, error) {
	f.got = want
	return tenancy.Tenant{Name: want.Name, Revision: 1}, false, nil
}

func (f *fakeStore) Tenants(_ context.Context, _ tenancy.Scope, want tenancy.List[string]) ([]tenancy.Tenant, bool, error) {
	f.got = want
	return nil, false, nil
}

func (f *fakeStore) CreateClient(_ context.Context, _ tenancy.Scope, tenant domain.TenantID, want tenancy.NewClient) (tenancy.Client, bool, error) {
	f.got = []any{tenant, want}
	return tenancy.Client{ID: knownClient, Name: want.Name, Scopes: want.Scopes, VerificationURI: want.VerificationURI, CreatedAt: verifiedAt}, true, nil
}

func (f *fakeStore) Clients(_ context.Context, _ tenancy.Scope, tenant domain.TenantID, want tenancy.List[string]) ([]tenancy.Client, bool, error) {
	f.got = []any{tenant, want}
	return []tenancy.Client{{ID: knownClient, Name: "tv", CreatedAt: verifiedAt, DisabledAt: verifiedAt}}, true, nil
}

func (f *fakeStore) DisableClient(_ context.Context, _ tenancy.Scope, tenant domain.TenantID, id domain.ClientID) (tenancy.Client, error) {
	f.got = []any{tenant, id}
	return tenancy.Client{}, nil
}

func (f *fakeStore) Principal(_ context.Context, _ tenancy.Scope, _ domain.TenantID, id domain.PrincipalID) (tenancy.Principal, error) {
	return tenancy.Principal{ID: id}, nil
}

func (f *fakeStore) Client(_ context.Context, _ tenancy.Scope, _ domain.TenantID, id domain.ClientID) (tenancy.Client, error) {
	return tenancy.Client{ID: id}, nil
}

func (f *fakeStore) Key(_ context.Context, _ tenancy.Scope, _ domain.TenantID, id domain.KeyID) (tenancy.Key, error) {
	return tenancy.Key{ID: id}, nil
}

func (f *fakeStore) CreateIssuer(_ context.Context, _ tenancy.Scope, tenant domain.TenantID, want tenancy.NewIssuer) (tenancy.Issuer, bool, error) {
	f.got = []any{tenant, want}
	return tenancy.Issuer{URL: want.URL, Scopes: want.Scopes, MaxLifetime: time.Hour}, true, nil
}

func (f *fakeStore) TrustedIssuer(_ context.Context, _ tenancy.Scope, _ domain.TenantID, id tenancy.IssuerID) (tenancy.Issuer, error) {
	return tenancy.Issuer{ID: id}, nil
}

// fakeJobs adds a job for data2 and finds the others' there.
type fakeJobs struct {
	err  error
	got  []string
	work migration.OpenWork
	kind string
}

func (f *fakeJobs) IdentitySweep(_ context.Context, databases ...string) ([]string, error) {
	f.got, f.kind = databases, "sweep"
	return []string{"data2"}, f.err
}

func (f *fakeJobs) RecordCleanup(_ context.Context, databases ...string) ([]string, error) {
	f.got, f.kind = databases, "record cleanup"
	return []string{"data2"}, f.err
}

func (f *fakeJobs) Snapshots(_ context.Context, databases ...string) ([]string, error) {
	f.got, f.kind = databases, "snapshots"
	return []string{"data2"}, f.err
}

func (f *fakeJobs) RecordObjects(_ context.Context, databases ...string) ([]string, error) {
	f.got, f.kind = databases, "objects"
	return []string{"data2"}, f.err
}

func (f *fakeJobs) IdentityCleanup(_ context.Context, databases ...string) ([]string, error) {
	f.got, f.kind = databases, "cleanup"
	return []string{"data2"}, f.err
}

func (f *fakeJobs) MigrationRun(_ context.Context, w migration.OpenWork) error {
	f.work, f.kind = w, "run"
	return f.err
}

func (f *fakeJobs) MigrationScrub(_ context.Context, w migration.OpenWork) error {
	f.work, f.kind = w, "scrub"
	return f.err
}
