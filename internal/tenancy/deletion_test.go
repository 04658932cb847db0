package tenancy_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// operator makes an operator by another, and is its caller with a key that the other
// one made too.
func (in *installation) operator(t *testing.T, by tenancy.Scope, name string, scopes ...string) tenancy.Scope {
	t.Helper()
	made, _, err := in.first.store.CreateOperator(t.Context(), by, tenancy.NewPrincipal{Name: name, Scopes: scopes})
	must(t, err)
	_, key, _, err := in.first.store.CreateKey(t.Context(), by, tenancy.Operators, tenancy.NewKey{Principal: made.ID})
	must(t, err)
	return in.first.authenticate(t, in.first.grant(t, key))
}

// An approval is of what was shown: of no tenant that has changed, and of no request
// that took the place of another.
func TestApproveDeletion_NamesWhatWasAsked(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store, tenant := in.first.store, in.tenant(t, "acme")
	ask := func() int64 {
		t.Helper()
		now, err := store.Tenant(t.Context(), in.ada, tenant.ID)
		must(t, err)
		asked, err := store.AskDeletion(t.Context(), in.ada, tenant.ID, now.Revision)
		must(t, err)
		return asked.Tenant.Revision
	}
	approve := func(revision int64) error {
		_, err := store.ApproveDeletion(t.Context(), in.grace, tenant.ID, revision)
		return err
	}
	first := ask()
	wantCode(t, approve(first-1), domain.KindPreconditionFailed, "revision_stale")
	_, err := store.RenameTenant(t.Context(), in.ada, tenant.ID, first, "initech")
	must(t, err)
	wantCode(t, approve(first), domain.KindPreconditionFailed, "revision_stale")
	_, err = store.CancelDeletion(t.Context(), in.ada, tenant.ID)
	must(t, err)
	second := ask()
	wantCode(t, approve(first), domain.KindPreconditionFailed, "revision_stale")
	for range 2 { // the repetition finds what the first one did
		must(t, approve(second))
	}
}

func TestApproveDeletion_NotOfWhatWasAskedForLongAgo(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store, tenant := in.first.store, in.tenant(t, "acme")
	asked, err := store.AskDeletion(t.Context(), in.ada, tenant.ID, tenant.Revision)
	must(t, err)
	in.clock.advance(30*24*time.Hour + time.Second)
	_, err = store.ApproveDeletion(t.Context(), in.grace, tenant.ID, asked.Tenant.Revision)
	wantCode(t, err, domain.KindConflict, "deletion_lapsed")
	called, err := store.CancelDeletion(t.Context(), in.ada, tenant.ID)
	must(t, err)
	asked, err = store.AskDeletion(t.Context(), in.ada, tenant.ID, called.Revision)
	must(t, err)
	in.clock.advance(30 * 24 * time.Hour)
	_, err = store.ApproveDeletion(t.Context(), in.grace, tenant.ID, asked.Tenant.Revision)
	must(t, err)
}

func TestApproveDeletion_NotOfWhatADisabledOperatorAskedFor(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store, tenant := in.first.store, in.tenant(t, "acme")
	lin := in.operator(t, in.ada, "lin", tenancy.OperatorTenants)
	asked, err := store.AskDeletion(t.Context(), lin, tenant.ID, tenant.Revision)
	must(t, err)
	_, err = store.DisableOperator(t.Context(), in.ada, lin.Principal)
	must(t, err)
	_, err = store.ApproveDeletion(t.Context(), in.grace, tenant.ID, asked.Tenant.Revision)
	wantCode(t, err, domain.KindConflict, "asker_disabled")
	if now, err := store.Tenant(t.Context(), in.ada, tenant.ID); err != nil || now.State != tenancy.TenantActive {
		t.Errorf("%+v, %v", now, err)
	}
}

// One hand can't do what takes two by making itself a second one, or a key of
// another's; in either direction, and however long the way. Whom a third one made are
// two.
func TestApproveDeletion_NotByAMadeUpSecond(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store := in.first.store
	all := tenancy.OperatorScopes()
	ann, bob := in.operator(t, in.ada, "ann", all...), in.operator(t, in.ada, "bob", all...)
	child := in.operator(t, ann, "child", all...)
	grandchild := in.operator(t, child, "grandchild", all...)
	lent := in.operator(t, bob, "lent", all...)
	_, key, _, err := store.CreateKey(t.Context(), ann, tenancy.Operators, tenancy.NewKey{Principal: lent.Principal})
	must(t, err)
	lent = in.first.authenticate(t, in.first.grant(t, key))

	for _, c := range []struct {
		asks, approves tenancy.Scope
		refused        bool
	}{
		{ann, ann, true}, {ann, child, true}, {ann, grandchild, true}, {ann, lent, true}, {bob, lent, true},
		{child, ann, true}, {grandchild, ann, true}, {lent, bob, true}, {in.ada, grandchild, true},
		{ann, bob, false}, {bob, grandchild, false}, {child, lent, false}, {ann, in.grace, false}, {in.grace, ann, false}, {in.ada, in.grace, false},
	} {
		name := c.asks.Name + "-" + c.approves.Name
		tenant := in.tenant(t, name)
		asked, err := store.AskDeletion(t.Context(), c.asks, tenant.ID, tenant.Revision)
		must(t, err)
		_, err = store.ApproveDeletion(t.Context(), c.approves, tenant.ID, asked.Tenant.Revision)
		if got := domain.CodeOf(err); (got == "approver_is_involved") != c.refused || !c.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
