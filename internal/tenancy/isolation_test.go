package tenancy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestControlDatabase_ShowsATenantItsOwnRowsAndNobodyElseAny(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	acme, key, _ := in.client(t, "acme")
	other, otherKey, _ := in.client(t, "other")
	app, otherApp := in.publicClient(t, acme.ID, "tv"), in.publicClient(t, other.ID, "tv")
	_, err := in.first.store.RevokeKey(t.Context(), in.ada, other.ID, otherKey.ID)
	must(t, err)

	type view map[string]int
	look := func(enter ...any) view {
		tx, err := in.first.router.Control().Begin(t.Context())
		must(t, err)
		defer tx.Rollback(t.Context())
		if len(enter) > 0 {
			_, err := tx.Exec(t.Context(), `SELECT enter_control($1)`, enter...)
			must(t, err)
		}
		seen := view{}
		for _, table := range []string{"installation", "tenants", "principals", "api_keys", "clients", "signing_keys", "revocation_counter", "revocations"} {
			var n int
			must(t, tx.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n))
			if n > 0 {
				seen[table] = n
			}
		}
		return seen
	}
	operators := view{
		"installation": 1, "tenants": 2, "principals": 2, "api_keys": 2, "signing_keys": 1, "revocation_counter": 1,
		"revocations": len(in.revocations(t)),
	}
	for name, test := range map[string]struct{ got, want view }{
		"no tenant":     {look(), view{}},
		"acme":          {look(acme.ID), view{"tenants": 1, "principals": 1, "api_keys": 1, "clients": 1}},
		"an unknown":    {look(domain.TenantID{1}), view{}},
		"the operators": {look(tenancy.Operators), operators},
		"no tenant, on a connection that had one": {look(), view{}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s sees (-want +got)\n%s", name, diff)
		}
	}

	// A tenant's own transaction can't change its row, or anything of another's.
	for _, sql := range []string{
		`UPDATE tenants SET state = 'suspended'`,
		`UPDATE api_keys SET revoked_at = now() WHERE tenant_id = '` + other.ID.String() + `'`,
		`UPDATE clients SET disabled_at = now() WHERE client_id = '` + otherApp.ID.String() + `'`,
		`DELETE FROM revocations`,
	} {
		tx, err := in.first.router.Control().Begin(t.Context())
		must(t, err)
		_, err = tx.Exec(t.Context(), `SELECT enter_control($1)`, acme.ID)
		must(t, err)
		tag, err := tx.Exec(t.Context(), sql)
		if err != nil || tag.RowsAffected() != 0 {
			t.Errorf("%s: %v, %v; want no row", sql, tag, err)
		}
		must(t, tx.Rollback(t.Context()))
	}

	// A key's or a client's id tells whose it is, and nothing to whoever only guesses.
	for function, id := range map[string][16]byte{"tenant_of_key": key.ID, "tenant_of_client": app.ID} {
		found := rows(t, in.first.router.Control(), pgx.RowTo[*string], `SELECT `+function+`(k)::text FROM unnest($1::uuid[]) k`,
			[][16]byte{id, {1}})
		if want := acme.ID.String(); len(found) != 2 || found[0] == nil || *found[0] != want || found[1] != nil {
			t.Errorf("%s = %v, want %s and null", function, found, want)
		}
	}
}
