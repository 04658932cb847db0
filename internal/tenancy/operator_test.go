package tenancy_test

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestOperators_NobodyHandsOutWhatTheyDoNotHold(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store := in.first.store
	clerk := in.ada
	clerk.Scopes = []string{tenancy.OperatorRead, tenancy.OperatorTenants}
	_, _, err := store.CreateOperator(t.Context(), clerk, tenancy.NewPrincipal{Name: "mallory", Scopes: []string{tenancy.OperatorApprove}})
	wantCode(t, err, domain.KindForbidden, "scope_not_held")
	_, _, err = store.CreateOperator(t.Context(), in.ada, tenancy.NewPrincipal{Name: "p", Scopes: []string{tenancy.LeaseRead}})
	wantCode(t, err, domain.KindInvalid, "scope_not_grantable")

	full, _, err := store.CreateOperator(t.Context(), in.ada, tenancy.NewPrincipal{Name: "lin", Scopes: tenancy.OperatorScopes()})
	must(t, err)
	_, _, _, err = store.CreateKey(t.Context(), clerk, tenancy.Operators, tenancy.NewKey{Principal: full.ID})
	wantCode(t, err, domain.KindForbidden, "scope_not_held")
	_, text, _, err := store.CreateKey(t.Context(), in.ada, tenancy.Operators, tenancy.NewKey{Principal: full.ID})
	must(t, err)
	lin := in.first.authenticate(t, in.first.grant(t, text))
	if !lin.IsOperator() || lin.Name != "lin" || !slices.Equal(lin.Scopes, tenancy.OperatorScopes()) {
		t.Errorf("scope = %+v, want lin with every operator scope", lin)
	}
	operators, more, err := store.Operators(t.Context(), in.ada, tenancy.List[string]{After: "ada", Limit: 2})
	must(t, err)
	if names := []string{operators[0].Name, operators[1].Name}; more || !slices.Equal(names, []string{"grace", "lin"}) {
		t.Errorf("operators after ada = %v, more %v", names, more)
	}
}

func TestDisableOperator_NeverTheLastWhoCanMakeAnother(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store := in.first.store
	in.reader(t, "reader")
	operators, _, err := store.Operators(t.Context(), in.ada, tenancy.List[string]{Limit: 10})
	must(t, err)
	var administrators []domain.PrincipalID
	for _, o := range operators {
		if slices.Contains(o.Scopes, tenancy.OperatorTenants) {
			administrators = append(administrators, o.ID)
		}
	}
	// Ada and Grace disable each other at the same time: each has looked who else
	// there is, and neither can commit yet.
	hold, err := in.admin.Begin(t.Context())
	must(t, err)
	_, err = hold.Exec(t.Context(), `SELECT FROM revocation_counter FOR UPDATE`)
	must(t, err)
	released := make(chan error, 1)
	go func() {
		for in.waiting(t) < 2 && t.Context().Err() == nil {
			runtime.Gosched()
		}
		released <- hold.Rollback(context.Background())
	}()
	_, errs := parallel(t.Context(), 2, func(ctx context.Context, i int) (tenancy.Principal, error) {
		return store.DisableOperator(ctx, in.ada, administrators[i])
	})
	must(t, <-released)
	var refused int
	for _, err := range errs {
		if err != nil {
			wantCode(t, err, domain.KindConflict, "last_operator")
			refused++
		}
	}
	if left := rows(t, in.admin, pgx.RowTo[string], `SELECT name FROM principals WHERE 'operator:tenants' = ANY (scopes) AND disabled_at IS NULL`); refused != 1 || len(left) != 1 {
		t.Errorf("%d were refused and %v are left, want one each", refused, left)
	}
}

// reader makes an operator who can only read.
func (in *installation) reader(t testing.TB, name string) {
	t.Helper()
	_, _, err := in.first.store.CreateOperator(t.Context(), in.ada, tenancy.NewPrincipal{Name: name, Scopes: []string{tenancy.OperatorRead}})
	must(t, err)
}

// waiting tells how many transactions of the control database wait for a lock.
func (in *installation) waiting(t testing.TB) (n int) {
	err := in.admin.QueryRow(t.Context(),
		`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
	if err != nil {
		return 0
	}
	return n
}
