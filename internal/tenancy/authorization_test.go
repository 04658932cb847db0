package tenancy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestStore_ObeysOnlyOperatorsWithTheScope(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store, ctx := in.first.store, t.Context()
	tenant, key, text := in.client(t, "acme")
	app := in.publicClient(t, tenant.ID, "tv")
	importing := in.importingTenant(t, "importing")
	caller := in.first.authenticate(t, in.first.grant(t, text))
	disguised := caller // a tenant's principal with an operator's scopes would be a bug elsewhere
	disguised.Scopes = tenancy.OperatorScopes()
	only := func(scopes ...string) tenancy.Scope {
		s := in.ada
		s.Scopes = scopes
		return s
	}
	byName, byID := tenancy.List[string]{Limit: 1}, tenancy.List[domain.KeyID]{Limit: 1}
	tenants := map[string]func(tenancy.Scope) error{
		"CreateTenant": func(s tenancy.Scope) error {
			_, _, err := store.CreateTenant(ctx, s, tenancy.NewTenant{Name: "new", HandlePolicy: "ascii"})
			return err
		},
		"Tenant":        func(s tenancy.Scope) error { _, err := store.Tenant(ctx, s, tenant.ID); return err },
		"Tenants":       func(s tenancy.Scope) error { _, _, err := store.Tenants(ctx, s, byName); return err },
		"SuspendTenant": func(s tenancy.Scope) error { _, err := store.SuspendTenant(ctx, s, tenant.ID); return err },
		"ResumeTenant":  func(s tenancy.Scope) error { _, err := store.ResumeTenant(ctx, s, tenant.ID); return err },
		"RenameTenant": func(s tenancy.Scope) error {
			_, err := store.RenameTenant(ctx, s, tenant.ID, tenant.Revision, "other")
			return err
		},
		"AskDeletion": func(s tenancy.Scope) error {
			_, err := store.AskDeletion(ctx, s, tenant.ID, tenant.Revision)
			return err
		},
		"CancelDeletion":   func(s tenancy.Scope) error { _, err := store.CancelDeletion(ctx, s, tenant.ID); return err },
		"HoldTenant":       func(s tenancy.Scope) error { _, err := store.HoldTenant(ctx, s, tenant.ID, "a lawsuit"); return err },
		"LiftHold":         func(s tenancy.Scope) error { _, err := store.LiftHold(ctx, s, tenant.ID); return err },
		"DemandExportable": func(s tenancy.Scope) error { return store.DemandExportable(ctx, s, tenant.ID) },
		"OpenIdentity":     func(s tenancy.Scope) error { _, err := store.OpenIdentity(ctx, s, importing.ID); return err },
		"SetRecordFormat": func(s tenancy.Scope) error {
			_, err := store.SetRecordFormat(ctx, s, tenant.ID, tenancy.RecordsInObjects)
			return err
		},
		"CreatePrincipal": func(s tenancy.Scope) error {
			_, _, err := store.CreatePrincipal(ctx, s, tenant.ID, tenancy.NewPrincipal{Name: "new", Scopes: []string{tenancy.LeaseRead}})
			return err
		},
		"Principals": func(s tenancy.Scope) error { _, _, err := store.Principals(ctx, s, tenant.ID, byName); return err },
		"DisablePrincipal": func(s tenancy.Scope) error {
			_, err := store.DisablePrincipal(ctx, s, tenant.ID, key.Principal)
			return err
		},
		"CreateClient": func(s tenancy.Scope) error {
			_, _, err := store.CreateClient(ctx, s, tenant.ID, tenancy.NewClient{Name: "new", VerificationURI: "https://acme.example/device"})
			return err
		},
		"Clients":       func(s tenancy.Scope) error { _, _, err := store.Clients(ctx, s, tenant.ID, byName); return err },
		"DisableClient": func(s tenancy.Scope) error { _, err := store.DisableClient(ctx, s, tenant.ID, app.ID); return err },
		"CreateOperator": func(s tenancy.Scope) error {
			_, _, err := store.CreateOperator(ctx, s, tenancy.NewPrincipal{Name: "new", Scopes: []string{tenancy.OperatorRead}})
			return err
		},
		"DisableOperator": func(s tenancy.Scope) error { _, err := store.DisableOperator(ctx, s, in.ada.Principal); return err },
		"CreateKey": func(s tenancy.Scope) error {
			_, _, _, err := store.CreateKey(ctx, s, tenant.ID, tenancy.NewKey{Principal: key.Principal})
			return err
		},
		"CreateKey of an operator": func(s tenancy.Scope) error {
			_, _, _, err := store.CreateKey(ctx, s, tenancy.Operators, tenancy.NewKey{Principal: in.ada.Principal})
			return err
		},
		"Keys": func(s tenancy.Scope) error {
			_, _, err := store.Keys(ctx, s, tenant.ID, key.Principal, byID)
			return err
		},
		"RevokeKey": func(s tenancy.Scope) error { _, err := store.RevokeKey(ctx, s, tenant.ID, key.ID); return err },
	}
	reads := map[string]func(tenancy.Scope) error{
		"DemandTenant": func(s tenancy.Scope) error { return store.DemandTenant(ctx, s, tenancy.OperatorRead, tenant.ID) },
		"Operators":    func(s tenancy.Scope) error { _, _, err := store.Operators(ctx, s, byName); return err },
		"Keys of an operator": func(s tenancy.Scope) error {
			_, _, err := store.Keys(ctx, s, tenancy.Operators, in.ada.Principal, byID)
			return err
		},
	}
	before := in.everything(t)
	strangers := map[string]tenancy.Scope{
		"nobody": {}, "a tenant's principal": caller, "a disguised one": disguised, "other scopes": only(tenancy.OperatorApprove, tenancy.OperatorMigrate),
	}
	for who, s := range strangers {
		for name, call := range tenants {
			if err := call(s); domain.CodeOf(err) != "insufficient_scope" || domain.KindOf(err) != domain.KindForbidden {
				t.Errorf("%s by %s: %v, want insufficient_scope", name, who, err)
			}
		}
		for name, call := range reads {
			if err := call(s); domain.CodeOf(err) != "insufficient_scope" {
				t.Errorf("%s by %s: %v, want insufficient_scope", name, who, err)
			}
		}
	}
	for name, call := range tenants {
		if err := call(only(tenancy.OperatorRead)); domain.CodeOf(err) != "insufficient_scope" {
			t.Errorf("%s with %s: %v, want insufficient_scope", name, tenancy.OperatorRead, err)
		}
	}
	for name, call := range reads {
		if err := call(only(tenancy.OperatorTenants)); domain.CodeOf(err) != "insufficient_scope" {
			t.Errorf("%s with %s: %v, want insufficient_scope", name, tenancy.OperatorTenants, err)
		}
		must(t, call(only(tenancy.OperatorRead)))
	}
	if diff := cmp.Diff(before, in.everything(t)); diff != "" {
		t.Errorf("refused calls changed something (-before +after)\n%s", diff)
	}
	for _, name := range []string{"Tenant", "Tenants", "Keys", "Principals", "Clients"} {
		must(t, tenants[name](only(tenancy.OperatorTenants)))
	}
}

// everything is the control database's whole state, a line a row.
func (in *installation) everything(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, table := range []string{"tenants", "principals", "api_keys", "clients", "signing_keys", "revocation_counter", "revocations"} {
		all = append(all, rows(t, in.admin, pgx.RowTo[string], `SELECT r::text FROM `+table+` r ORDER BY 1`)...)
	}
	return all
}
