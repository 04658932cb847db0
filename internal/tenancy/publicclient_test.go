package tenancy_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// calling is the client as the process finds it by its client_id.
func (p process) calling(t testing.TB, c tenancy.Client) tenancy.Client {
	t.Helper()
	found, err := p.tokens.PublicClient(t.Context(), tenancy.ClientIDText(c.ID))
	must(t, err)
	return found
}

func wantRefusedClient(t testing.TB, p process, clientID, code string) {
	t.Helper()
	c, err := p.tokens.PublicClient(t.Context(), clientID)
	var refused *tenancy.GrantError
	if !errors.As(err, &refused) || refused.Code != code || !c.ID.IsZero() {
		t.Errorf("client %q = %+v, %v; want %s", clientID, c, err, code)
	}
}

func TestPublicClient_IsToldWithItsTenant(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	made := in.publicClient(t, tenant.ID, "tv", "watch")
	idKey := rows(t, in.admin, pgx.RowTo[[]byte], `SELECT id_key FROM tenants WHERE tenant_id = $1`, tenant.ID)[0]
	want := made
	want.Settings, want.VerifiedAt = tenancy.Settings{HandlePolicy: "ascii", IDKey: idKey}, in.clock.Now()
	if diff := cmp.Diff(want, in.first.calling(t, made)); diff != "" {
		t.Errorf("client (-want +got)\n%s", diff)
	}
	in.clock.advance(time.Second)
	want.VerifiedAt = in.clock.Now()
	if diff := cmp.Diff(want, in.first.calling(t, made)); diff != "" {
		t.Errorf("the client again, a second later (-want +got)\n%s", diff)
	}
	got, err := in.first.tokens.PublicClientOf(t.Context(), tenant.ID, made.ID)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("by its tenant: %v (-want +got)\n%s", err, diff)
	}
}

func TestPublicClient_IsReadOnce(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	app := in.publicClient(t, in.tenant(t, "acme").ID, "tv")
	counted := &statements{}
	settings := in.databases.Settings(postgres.RoleAPI)
	settings.Tracer = counted
	router, err := postgres.Open(t.Context(), settings)
	must(t, err)
	t.Cleanup(router.Close)
	p := in.startOn(t, router, tenancy.NewGates(router))
	must(t, p.tokens.Poll(t.Context()))
	p.calling(t, app)
	before := counted.n.Load()
	for range 10 {
		p.calling(t, app)
	}
	if got := counted.n.Load() - before; got != 0 || before == 0 {
		t.Errorf("%d statements for a client that was read before, of %d; want none", got, before)
	}
}

func TestPublicClient_RefusesWhoeverIsNotOne(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	app := in.publicClient(t, in.tenant(t, "acme").ID, "tv")
	id := tenancy.ClientIDText(app.ID)
	key := request(in.adaKey).ClientID
	for _, clientID := range []string{
		"", "tv", app.ID.String(), strings.ToUpper(id), id + "0", id[:len(id)-1], " " + id, strings.TrimPrefix(id, "hfc_"),
		"hfc_" + strings.Repeat("0", 32), "hfc_" + strings.Repeat("g", 32), key, "hfc_" + strings.TrimPrefix(key, "hf_"), in.adaKey,
	} {
		wantRefusedClient(t, in.first, clientID, tenancy.GrantInvalidClient)
	}
}

func TestPublicClient_DisabledIsRefusedOnEveryProcessWithinThePoll(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	second := in.start(t)
	must(t, second.tokens.Poll(t.Context()))
	tenant := in.tenant(t, "acme")
	app, other := in.publicClient(t, tenant.ID, "tv"), in.publicClient(t, tenant.ID, "phone")
	for _, p := range []process{in.first, second} {
		p.calling(t, app)
		p.calling(t, other)
	}
	_, err := in.first.store.DisableClient(t.Context(), in.ada, tenant.ID, app.ID)
	must(t, err)
	late := in.start(t)
	for _, p := range []process{in.first, second, late} {
		must(t, p.tokens.Poll(t.Context()))
		wantRefusedClient(t, p, tenancy.ClientIDText(app.ID), tenancy.GrantInvalidClient)
		_, err := p.tokens.PublicClientOf(t.Context(), tenant.ID, app.ID)
		wantCode(t, err, domain.KindInvalid, "client_unknown")
		p.calling(t, other)
	}
}

func TestPublicClient_OfASuspendedTenantIsRefusedUntilItIsResumed(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	second := in.start(t)
	must(t, second.tokens.Poll(t.Context()))
	tenant, neighbour := in.tenant(t, "acme"), in.tenant(t, "neighbour")
	app, other := in.publicClient(t, tenant.ID, "tv"), in.publicClient(t, neighbour.ID, "tv")
	must(t, second.tokens.Poll(t.Context()))
	second.calling(t, app)
	second.calling(t, other)

	_, err := in.first.store.SuspendTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	must(t, second.tokens.Poll(t.Context()))
	wantRefusedClient(t, second, tenancy.ClientIDText(app.ID), tenancy.GrantTenantSuspended)
	second.calling(t, other)

	_, err = in.first.store.ResumeTenant(t.Context(), in.ada, tenant.ID)
	must(t, err)
	must(t, second.tokens.Poll(t.Context()))
	second.calling(t, app)
}

func TestPublicClient_AProcessThatWasAwayForDaysReadsItAgain(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	away := in.start(t)
	tenant := in.tenant(t, "acme")
	app := in.publicClient(t, tenant.ID, "tv")
	must(t, away.tokens.Poll(t.Context()))
	away.calling(t, app)
	_, err := in.first.store.DisableClient(t.Context(), in.ada, tenant.ID, app.ID)
	must(t, err)
	in.clock.advance(25 * time.Hour)
	wantUnavailable := func() {
		t.Helper()
		_, err := away.tokens.PublicClient(t.Context(), tenancy.ClientIDText(app.ID))
		wantCode(t, err, domain.KindUnavailable, "auth_unavailable")
		_, err = away.tokens.PublicClientOf(t.Context(), tenant.ID, app.ID)
		wantCode(t, err, domain.KindUnavailable, "auth_unavailable")
	}
	wantUnavailable() // it is blind, whatever it remembers
	other := in.tenant(t, "other")
	if left := in.revocations(t); len(left) != 1 || left[0].Subject != other.ID {
		t.Fatalf("revocations = %v, want the last one only", left)
	}
	must(t, away.tokens.Poll(t.Context()))
	wantRefusedClient(t, away, tenancy.ClientIDText(app.ID), tenancy.GrantInvalidClient)
}

func TestPublicClientOf_AnotherTenantsIsAsUnknownAsARandomId(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	app := in.publicClient(t, tenant.ID, "tv")
	for range 2 { // read, and remembered
		_, foreign := in.first.tokens.PublicClientOf(t.Context(), other.ID, app.ID)
		_, unknown := in.first.tokens.PublicClientOf(t.Context(), other.ID, domain.ClientID{1})
		wantCode(t, foreign, domain.KindInvalid, "client_unknown")
		if diff := cmp.Diff(foreign.Error(), unknown.Error()); diff != "" {
			t.Errorf("another's and a random id's answers differ\n%s", diff)
		}
		var refused *domain.Error
		if !errors.As(foreign, &refused) || len(refused.Fields) != 1 || refused.Fields[0].Pointer != "/client_id" {
			t.Errorf("%+v points elsewhere than /client_id", refused)
		}
		in.first.calling(t, app)
	}
}

func TestClientIDText_HasOneSpelling(t *testing.T) {
	t.Parallel()
	id := domain.ClientID{0xab, 15: 0x01}
	text := tenancy.ClientIDText(id)
	if want := "hfc_ab000000000000000000000000000001"; text != want {
		t.Errorf("text = %q, want %q", text, want)
	}
	if got, ok := tenancy.ParseClientIDText(text); got != id || !ok {
		t.Errorf("parsed = %v, %v; want %v", got, ok, id)
	}
	for _, other := range []string{"", text[4:], "hf_" + text[4:], "hfc_" + strings.ToUpper(text[4:]), text + "0", text[:35] + "g", id.String(), "hfc_" + id.String()} {
		if got, ok := tenancy.ParseClientIDText(other); ok || !got.IsZero() {
			t.Errorf("%q is read as %v", other, got)
		}
	}
}
