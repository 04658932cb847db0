package tenancy_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestBootstrap_OnceHoweverManyStartAtOnce(t *testing.T) {
	t.Parallel()
	in := bare(t, 1)
	key := tenancy.GenerateKey(in.clock.Now())
	var processes []process
	for range 8 {
		processes = append(processes, in.start(t))
	}
	made, errs := parallel(t.Context(), 8, func(ctx context.Context, i int) (bool, error) {
		made, err := processes[i].store.Bootstrap(ctx, []tenancy.BootstrapKey{{Name: "first-operator", Key: key}})
		return made, errors.Join(err, processes[i].tokens.Poll(ctx))
	})
	must(t, errors.Join(errs...))
	count := 0
	for _, m := range made {
		if m {
			count++
		}
	}
	type state struct{ Operators, Keys, SigningKeys int }
	got := rows(t, in.admin, pgx.RowToStructByPos[state],
		`SELECT (SELECT count(*) FROM principals), (SELECT count(*) FROM api_keys), (SELECT count(*) FROM signing_keys)`)
	if diff := cmp.Diff([]state{{1, 1, 1}}, got); diff != "" || count != 1 {
		t.Errorf("%d made them; rows (-want +got)\n%s", count, diff)
	}
	// Any process's token is good on any other, the moment all have started.
	for i, p := range processes {
		scope := processes[(i+1)%8].authenticate(t, p.grant(t, key))
		if scope.Name != "first-operator" || !cmp.Equal(scope.Scopes, tenancy.OperatorScopes()) {
			t.Errorf("process %d: %+v", i, scope)
		}
	}

	told := rows(t, in.admin, pgx.RowTo[string], `SELECT operation || ' ' || (entry::jsonb #>> '{subjects,name}') FROM audit_log`)
	if diff := cmp.Diff([]string{"bootstrap first-operator"}, told); diff != "" {
		t.Errorf("the audit log (-want +got)\n%s", diff)
	}

	// Later starts change nothing, even with other keys or when all are disabled.
	if _, err := in.admin.Exec(t.Context(), `UPDATE principals SET disabled_at = now()`); err != nil {
		t.Fatal(err)
	}
	again, err := processes[0].store.Bootstrap(t.Context(), []tenancy.BootstrapKey{{Name: "eve", Key: tenancy.GenerateKey(in.clock.Now())}})
	if again || err != nil {
		t.Errorf("a second bootstrap made operators (%v)", err)
	}
}

func TestBootstrap_AllOrNothing(t *testing.T) {
	t.Parallel()
	in := bare(t, 1)
	store := in.start(t).store
	good := tenancy.GenerateKey(in.clock.Now())
	for name, keys := range map[string][]tenancy.BootstrapKey{
		"a malformed key":  {{Name: "ada", Key: good}, {Name: "grace", Key: good[:len(good)-1]}},
		"a malformed name": {{Name: "ada", Key: good}, {Name: "Grace", Key: tenancy.GenerateKey(in.clock.Now())}},
		"one name twice":   {{Name: "ada", Key: good}, {Name: "ada", Key: tenancy.GenerateKey(in.clock.Now())}},
		"one key twice":    {{Name: "ada", Key: good}, {Name: "grace", Key: good}},
	} {
		made, err := store.Bootstrap(t.Context(), keys)
		if made || err == nil {
			t.Errorf("%s: made %v, %v", name, made, err)
		} else if secret := good[len(good)-43:]; strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%s: the error holds the key: %v", name, err)
		}
	}
	if got := rows(t, in.admin, pgx.RowTo[string], `SELECT name FROM principals`); len(got) > 0 {
		t.Errorf("operators = %v, want none", got)
	}
}
