package tenancy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestRevocations_AreNumberedInTheOrderOfTheirCommits(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	p := in.principal(t, tenant.ID, "backend", tenancy.LeaseRead)
	var keys []tenancy.Key
	for range 12 {
		key, _ := in.key(t, tenant.ID, p)
		keys = append(keys, key)
	}
	before := len(in.revocations(t))

	// A reader that follows the counter sees every number once, in order.
	seen := make(chan []int64)
	go func() {
		after, all := int64(before), []int64{}
		for len(all) < len(keys) && t.Context().Err() == nil {
			r, _ := in.admin.Query(t.Context(), `SELECT sequence FROM revocations WHERE sequence > $1 ORDER BY sequence`, after)
			found, err := pgx.CollectRows(r, pgx.RowTo[int64])
			if err != nil {
				break
			}
			if all = append(all, found...); len(found) > 0 {
				after = found[len(found)-1]
			}
		}
		seen <- all
	}()
	_, errs := parallel(t.Context(), len(keys), func(ctx context.Context, i int) (tenancy.Key, error) {
		return in.first.store.RevokeKey(ctx, in.ada, tenant.ID, keys[i].ID)
	})
	must(t, errors.Join(errs...))
	var want []int64
	for i := range keys {
		want = append(want, int64(before+i+1))
	}
	if diff := cmp.Diff(want, <-seen); diff != "" {
		t.Errorf("numbers (-want +got)\n%s", diff)
	}
}

func TestProcessThatWasAwayForDays_ReadsTenantsAgain(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	away := in.start(t)
	tenant, _, text := in.client(t, "acme")
	token := in.first.grant(t, text)
	_, err := in.first.store.SuspendTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	must(t, away.tokens.Poll(t.Context()))
	_, err = away.tokens.Authenticate(t.Context(), token)
	wantCode(t, err, domain.KindForbidden, "tenant_suspended")

	_, err = in.first.store.ResumeTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	in.clock.advance(25 * time.Hour)
	must(t, in.first.tokens.Poll(t.Context()))
	other := in.tenant(t, "other") // deletes what is too old, so that the resume is never read
	if left := in.revocations(t); len(left) != 1 || left[0].Subject != other.ID {
		t.Fatalf("revocations = %v, want the last one only", left)
	}
	must(t, away.tokens.Poll(t.Context()))
	away.authenticate(t, away.grant(t, text))
}

// sqlLoseCommit ends the connection while it commits a revocation.
const sqlLoseCommit = `
CREATE FUNCTION lose_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60);
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lose_commit AFTER INSERT ON revocations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION lose_commit()`

func TestRevokeKey_LostCommitIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, key, _ := in.client(t, "acme")
	_, err := in.admin.Exec(t.Context(), sqlLoseCommit)
	must(t, err)
	_, err = in.first.store.RevokeKey(t.Context(), in.ada, tenant.ID, key.ID)
	wantCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	_, err = in.admin.Exec(t.Context(), `DROP TRIGGER lose_commit ON revocations`)
	must(t, err)
	if got, err := in.first.store.RevokeKey(t.Context(), in.ada, tenant.ID, key.ID); err != nil || got.RevokedAt.IsZero() {
		t.Errorf("retry = %+v, %v; want it revoked", got, err)
	}
}
