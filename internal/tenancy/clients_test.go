package tenancy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const verificationURI = "https://acme.example/device"

func (in *installation) publicClient(t testing.TB, tenant domain.TenantID, name string, scopes ...string) tenancy.Client {
	t.Helper()
	c, _, err := in.first.store.CreateClient(t.Context(), in.ada, tenant,
		tenancy.NewClient{Name: name, Scopes: scopes, VerificationURI: verificationURI})
	must(t, err)
	return c
}

func TestCreateClient_IsListedAndReplayed(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	store := in.first.store
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	want := tenancy.NewClient{
		Name: "tv", Scopes: []string{"watch", "library:read", "watch"}, VerificationURI: verificationURI, IdempotencyKey: "one",
	}
	made, replayed, err := store.CreateClient(t.Context(), in.ada, tenant.ID, want)
	must(t, err)
	expected := tenancy.Client{
		ID: made.ID, Tenant: tenant.ID, Name: "tv", Scopes: []string{"library:read", "watch"}, VerificationURI: verificationURI,
		CreatedAt: in.clock.Now(),
	}
	if diff := cmp.Diff(expected, made); diff != "" || replayed {
		t.Errorf("replayed %v, client (-want +got)\n%s", replayed, diff)
	}
	again, replayed, err := store.CreateClient(t.Context(), in.ada, tenant.ID, want)
	if diff := cmp.Diff(expected, again); diff != "" || !replayed || err != nil {
		t.Errorf("retry: replayed %v, %v, client (-want +got)\n%s", replayed, err, diff)
	}

	for _, change := range []func(*tenancy.NewClient){
		func(c *tenancy.NewClient) { c.Name = "phone" },
		func(c *tenancy.NewClient) { c.Scopes = nil },
		func(c *tenancy.NewClient) { c.VerificationURI += "s" },
	} {
		reused := want
		change(&reused)
		_, _, err = store.CreateClient(t.Context(), in.ada, tenant.ID, reused)
		wantCode(t, err, domain.KindInvalid, "idempotency_key_reused")
	}
	taken := want
	taken.IdempotencyKey = ""
	_, _, err = store.CreateClient(t.Context(), in.ada, tenant.ID, taken)
	wantCode(t, err, domain.KindConflict, "client_name_taken")

	elsewhere, replayed, err := store.CreateClient(t.Context(), in.ada, other.ID, want)
	if err != nil || elsewhere.ID == made.ID || replayed {
		t.Errorf("the same request in another tenant = %v, replayed %v, %v; want another client", elsewhere.ID, replayed, err)
	}
	none := in.publicClient(t, tenant.ID, "a")
	if none.Scopes == nil || len(none.Scopes) != 0 {
		t.Errorf("scopes of a client without any = %#v, want an empty list", none.Scopes)
	}
	if diff := cmp.Diff([]string{"a", "tv"}, in.clientNames(t, tenant.ID)); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
}

// clientNames reads the list, one a page.
func (in *installation) clientNames(t testing.TB, tenant domain.TenantID) (names []string) {
	t.Helper()
	page := tenancy.List[string]{Limit: 1}
	for more := true; more; {
		var found []tenancy.Client
		var err error
		found, more, err = in.first.store.Clients(t.Context(), in.ada, tenant, page)
		must(t, err)
		for _, c := range found {
			names = append(names, c.Name)
			page.After = c.Name
		}
	}
	return names
}

func TestCreateClient_OneKeyOneClient(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	want := tenancy.NewClient{Name: "tv", VerificationURI: verificationURI, IdempotencyKey: "one"}
	type answer struct {
		id       domain.ClientID
		replayed bool
	}
	answers, errs := parallel(t.Context(), 8, func(ctx context.Context, _ int) (answer, error) {
		c, replayed, err := in.first.store.CreateClient(ctx, in.ada, tenant.ID, want)
		return answer{c.ID, replayed}, err
	})
	made := 0
	for i, err := range errs {
		if err != nil || answers[i].id != answers[0].id {
			t.Errorf("racer %d = %v, %v; want %v", i, answers[i].id, err, answers[0].id)
		}
		if !answers[i].replayed {
			made++
		}
	}
	if made != 1 {
		t.Errorf("%d racers made it, want 1", made)
	}
}

func TestCreateClient_TakesAURIThatUsersMayBeSentTo(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	made := 0
	create := func(uri string) error {
		made++
		_, _, err := in.first.store.CreateClient(t.Context(), in.ada, tenant.ID,
			tenancy.NewClient{Name: fmt.Sprintf("c%d", made), VerificationURI: uri})
		return err
	}
	long := verificationURI + "?" + strings.Repeat("a", 2000-len(verificationURI)-1)
	for _, uri := range []string{
		verificationURI, long, "https://acme.example", "https://acme.example:8443/a?b=c", "HTTPS://acme.example/",
		"http://localhost:8080/device", "http://127.0.0.1/device", "http://[::1]:3000/",
	} {
		if err := create(uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	for _, uri := range []string{
		"", "device", "/device", "//acme.example/device", "acme.example/device", "https:acme.example", "https://", "https://:443/",
		"http://acme.example/device", "http://localhost.example/", "http://127.0.0.1.example/", "http://10.0.0.1/",
		"javascript://acme.example/%0aalert(1)", "javascript:alert(1)", "data:text/html,x", "ftp://acme.example/",
		"https://acme.example/device#code", "https://acme.example/#", "https://user@acme.example/", "https://user:pw@acme.example/",
		"https://acme.example/a b", " https://acme.example/", "https://acme.example/\n", "https://acme.example/\x00", "https://acme.example/\xff",
		"https://äcme.example/", "https://acme.example/%zz", "https://acme.example:port/", long + "a",
	} {
		err := create(uri)
		wantCode(t, err, domain.KindInvalid, "verification_uri_invalid")
		if t.Failed() {
			t.Fatalf("the URI was %q", uri)
		}
	}
}

func TestCreateClient_RefusesWhatIsMalformed(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant := in.tenant(t, "acme")
	create := func(name string, scopes ...string) error {
		_, _, err := in.first.store.CreateClient(t.Context(), in.ada, tenant.ID,
			tenancy.NewClient{Name: name, Scopes: scopes, VerificationURI: verificationURI})
		return err
	}
	for _, name := range []string{"", "TV", "tν" /* Greek */, ".a", "a b", "a\x00", strings.Repeat("a", 129)} {
		wantCode(t, create(name), domain.KindInvalid, "client_name_invalid")
	}
	for _, scope := range []string{"", " ", "a b", `"`, `\`, "a\x00", "a\x7f", "ä", "\xff"} {
		wantCode(t, create("tv", "watch", scope), domain.KindInvalid, "client_scope_invalid")
	}
	var many []string
	for i := range 65 {
		many = append(many, fmt.Sprint(i))
	}
	wantCode(t, create("tv", many...), domain.KindInvalid, "client_scopes_too_many")
	wantCode(t, create("tv", strings.Repeat("a", 1000), strings.Repeat("b", 1000)), domain.KindInvalid, "client_scopes_too_many")
	must(t, create("tv", append(many[:63], "!", "!")...)) // repetitions don't count
	must(t, create("tv2", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", strings.Repeat("a", 1000), strings.Repeat("b", 900)))
	_, _, err := in.first.store.CreateClient(t.Context(), in.ada, tenant.ID,
		tenancy.NewClient{Name: "tv3", VerificationURI: verificationURI, IdempotencyKey: strings.Repeat("k", 256)})
	wantCode(t, err, domain.KindInvalid, "idempotency_key_invalid")
}

func TestClients_OfATenantThatIsNotThere(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	app := in.publicClient(t, in.tenant(t, "acme").ID, "tv")
	for _, id := range []domain.TenantID{{1}, tenancy.Operators} {
		_, _, err := in.first.store.CreateClient(t.Context(), in.ada, id, tenancy.NewClient{Name: "tv", VerificationURI: verificationURI})
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
		_, _, err = in.first.store.Clients(t.Context(), in.ada, id, tenancy.List[string]{})
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
		_, err = in.first.store.DisableClient(t.Context(), in.ada, id, app.ID)
		wantCode(t, err, domain.KindNotFound, "tenant_not_found")
	}
}

func TestDisableClient_IsForGoodAndOfItsOwnTenantOnly(t *testing.T) {
	t.Parallel()
	in := install(t, 1)
	tenant, other := in.tenant(t, "acme"), in.tenant(t, "other")
	app := in.publicClient(t, tenant.ID, "tv", "watch")
	before := len(in.revocations(t))

	_, foreign := in.first.store.DisableClient(t.Context(), in.ada, other.ID, app.ID)
	_, unknown := in.first.store.DisableClient(t.Context(), in.ada, other.ID, domain.ClientID{1})
	wantCode(t, foreign, domain.KindNotFound, "client_not_found")
	if foreign.Error() != unknown.Error() {
		t.Errorf("another tenant's client: %v; a random id: %v; want the same", foreign, unknown)
	}

	want := app
	want.DisabledAt = in.clock.Now()
	for range 2 {
		got, err := in.first.store.DisableClient(t.Context(), in.ada, tenant.ID, app.ID)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("disable: %v (-want +got)\n%s", err, diff)
		}
	}
	if diff := cmp.Diff([]revocationRow{{int64(before) + 1, tenant.ID, "client", app.ID}}, in.revocations(t)[before:]); diff != "" {
		t.Errorf("revocations (-want +got)\n%s", diff)
	}
	_, _, err := in.first.store.CreateClient(t.Context(), in.ada, tenant.ID, tenancy.NewClient{Name: "tv", VerificationURI: verificationURI})
	wantCode(t, err, domain.KindConflict, "client_name_taken")
	if diff := cmp.Diff([]string{"tv"}, in.clientNames(t, tenant.ID)); diff != "" {
		t.Errorf("listed (-want +got)\n%s", diff)
	}
}
