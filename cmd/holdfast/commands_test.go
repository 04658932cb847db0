package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

func TestCommands_ATenantIsMadeAndCallsAndIsStopped(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme", "--handle-policy", "unicode")
	if tenant.Name != "acme" || tenant.HandlePolicy != "unicode" || tenant.State != "active" {
		t.Errorf("the tenant is %+v", tenant)
	}
	principal := told[holdfast.Principal](t, s, "principal", "create", tenant.ID, "backend", "--scopes", "identity:read,identity:write")
	if principal.Name != "backend" || !slices.Equal(principal.Scopes, []string{"identity:read", "identity:write"}) {
		t.Errorf("the principal is %+v", principal)
	}
	key := told[holdfast.CreatedAPIKey](t, s, "key", "create", tenant.ID, principal.ID, "--label", "2026", "--expires-at", "2100-01-31T00:00:00+01:00")
	if key.PrincipalID != principal.ID || key.Label != "2026" || key.ExpiresAt == nil || when(*key.ExpiresAt) != "2100-01-30T23:00:00Z" {
		t.Errorf("the key is %+v", key)
	}
	token := func() result { return execute(t, s.as(key.APIKey), "token") }
	bought := token()
	if bought.code != exitOK || s.accounts(t, strings.TrimSuffix(bought.stdout, "\n")) != http.StatusOK {
		t.Errorf("the token isn't taken: %+v", bought)
	}

	for _, step := range []struct{ command, state, refusal string }{
		{"suspend", "suspended", "(tenant_suspended, request "},
		{"resume", "active", ""},
	} {
		if got := told[holdfast.Tenant](t, s, "tenant", step.command, tenant.ID); got.State != step.state {
			t.Errorf("tenant %s: it is %s", step.command, got.State)
		}
		if got := token(); step.refusal == "" != (got.code == exitOK) || !strings.Contains(got.stderr, step.refusal) {
			t.Errorf("a token after tenant %s: %+v", step.command, got)
		}
	}
	if got := s.said(t, "key", "revoke", tenant.ID, key.ID); got != "It is revoked.\n" {
		t.Errorf("key revoke says %q", got)
	}
	if got := s.said(t, "principal", "disable", tenant.ID, principal.ID, "--json"); got != "" {
		t.Errorf("principal disable has nothing to tell, and says %q", got)
	}
	must(t, s.tokens.Poll(t.Context()))
	if got := token(); got.code != exitFailed || !strings.Contains(got.stderr, "(invalid_client, request ") {
		t.Errorf("a token for a revoked key: %+v", got)
	}
	shown := told[holdfast.Tenant](t, s, "tenant", "show", tenant.ID)
	if diff := cmp.Diff([]holdfast.Tenant{shown}, told[[]holdfast.Tenant](t, s, "tenant", "list")); diff != "" {
		t.Errorf("tenants (-shown +listed):\n%s", diff)
	}
	if all := told[[]holdfast.Principal](t, s, "principal", "list", tenant.ID); len(all) != 1 || all[0].DisabledAt == nil {
		t.Errorf("the principals are %+v", all)
	}
	if all := told[[]holdfast.APIKey](t, s, "key", "list", tenant.ID, principal.ID); len(all) != 1 || all[0].RevokedAt == nil {
		t.Errorf("the keys are %+v", all)
	}
}

// accounts lists the accounts of a token's tenant, and gives the status.
func (s *service) accounts(t *testing.T, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", s.url+"/v1/accounts", nil)
	must(t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	response.Body.Close()
	return response.StatusCode
}

func TestCommands_AnOperatorIsMadeAndCallsAndIsStopped(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	second := told[holdfast.Principal](t, s, "operator", "create", "second", "--scopes", "operator:read", "--scopes", "operator:tenants")
	key := told[holdfast.CreatedAPIKey](t, s, "operator", "key", "create", second.ID)
	spare := told[holdfast.CreatedAPIKey](t, s, "operator", "key", "create", second.ID, "--label", "spare")

	// HOLDFAST_OPERATOR_KEY does where there is no other.
	got := execute(t, []string{"HOLDFAST_URL=" + s.url, "HOLDFAST_OPERATOR_KEY=" + key.APIKey}, "tenant", "list")
	if diff := cmp.Diff(result{exitOK, "ID  NAME  STATE  HANDLES  NAMESPACE  FORMAT  LEGAL HOLD  CREATED\n", ""}, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("tenant list (-want +got):\n%s", diff)
	}
	s.said(t, "operator", "key", "revoke", spare.ID)
	revoked := map[string]bool{}
	for _, k := range told[[]holdfast.APIKey](t, s, "operator", "key", "list", second.ID) {
		revoked[k.Label] = k.RevokedAt != nil
	}
	if diff := cmp.Diff(map[string]bool{"": false, "spare": true}, revoked); diff != "" {
		t.Errorf("revoked keys (-want +got):\n%s", diff)
	}
	if got := s.said(t, "operator", "disable", second.ID); got != "The operator is disabled.\n" {
		t.Errorf("operator disable says %q", got)
	}
	disabled := map[string]bool{}
	for _, o := range told[[]holdfast.Principal](t, s, "operator", "list") {
		disabled[o.Name] = o.DisabledAt != nil
	}
	if diff := cmp.Diff(map[string]bool{"first": false, "grace": false, "second": true}, disabled); diff != "" {
		t.Errorf("disabled operators (-want +got):\n%s", diff)
	}
}

func TestCommands_SecretsAreShownWhereTheyAreTheAnswerOnly(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme")
	principal := told[holdfast.Principal](t, s, "principal", "create", tenant.ID, "backend", "--scopes", "identity:read")
	created := s.said(t, "key", "create", tenant.ID, principal.ID)
	key := regexp.MustCompile(`(?m)^KEY \(shown once\) +(hf_[0-9a-f]{32}_(\S{43}))$`).FindStringSubmatch(created)
	if key == nil {
		t.Fatalf("no key in\n%s", created)
	}
	narrow := execute(t, s.as(key[1]), "token", "--scopes", "identity:read", "--json")
	if narrow.code != exitOK || !strings.Contains(narrow.stdout, `"scope": "identity:read"`) || !strings.Contains(narrow.stdout, `"expires_in": 900`) {
		t.Errorf("token --json: %+v", narrow)
	}
	wrong := strings.Replace(key[1], key[2], strings.Repeat("A", 43), 1)
	for what, shown := range map[string]string{
		"key list":        s.said(t, "key", "list", tenant.ID, principal.ID) + s.said(t, "key", "list", tenant.ID, principal.ID, "--json"),
		"a wrong scope":   refused(t, s.as(key[1]), exitFailed, "token", "--scopes", "identity:write"),
		"a tenant's call": refused(t, s.as(key[1]), exitFailed, "tenant", "list"),
		"a wrong key":     refused(t, s.as(wrong), exitFailed, "tenant", "list"),
		"a broken key":    refused(t, s.as(key[1]+"!"), exitUsage, "tenant", "list"),
	} {
		if strings.Contains(shown, key[2]) || strings.Contains(shown, strings.Repeat("A", 43)) {
			t.Errorf("%s shows a secret:\n%s", what, shown)
		}
	}
}

func TestCommands_ListsGoOnBehindTheFirstPage(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	tenant := told[holdfast.Tenant](t, s, "tenant", "create", "acme")
	client, err := holdfast.Connect(s.url, s.operatorKey)
	must(t, err)
	for i := range pageSize + 1 {
		_, err := client.CreatePrincipalWithResponse(t.Context(), tenant.ID, nil,
			holdfast.NewPrincipal{Name: fmt.Sprint("p", i), Scopes: []string{"identity:read"}})
		must(t, err)
	}
	names := map[string]bool{}
	for _, p := range told[[]holdfast.Principal](t, s, "principal", "list", tenant.ID) {
		names[p.Name] = true
	}
	if len(names) != int(pageSize)+1 {
		t.Errorf("%d principals are listed, want %d", len(names), pageSize+1)
	}
}

func TestSweeps_ShowsProgressAndAsksForOneOfEachDatabase(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1", "data2")
	if got := told[[]holdfast.Sweep](t, s, "identity", "sweep"); got == nil || len(got) != 0 {
		t.Errorf("before any sweep there are %v", got)
	}
	worker := identity.New(s.installation.Router(t, postgres.RoleWorker), nil, identity.Options{})
	_, err := worker.SweepOperations(t.Context(), "data1", domain.FamilyAccount, 0, 50)
	must(t, err)
	lines := strings.Split(s.said(t, "identity", "sweep"), "\n")
	row := regexp.MustCompile(`^data1 +operations +account +1 +1 +(\S+) +0 +0$`).FindStringSubmatch(lines[1])
	if len(lines) != 3 || row == nil {
		t.Fatalf("identity sweep says\n%s", strings.Join(lines, "\n"))
	}
	if _, err := time.Parse(time.RFC3339, row[1]); err != nil {
		t.Error(err)
	}
	first := "DATABASE  SWEEP\ndata1     asked for\ndata2     asked for\n"
	if diff := cmp.Diff(first, s.said(t, "identity", "sweep", "run")); diff != "" {
		t.Errorf("identity sweep run (-want +got):\n%s", diff)
	}
	again := strings.ReplaceAll(first, "asked for", "waiting or under way already")
	if diff := cmp.Diff(again, s.said(t, "identity", "sweep", "run")); diff != "" {
		t.Errorf("identity sweep run, again (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(first, s.said(t, "identity", "sweep", "run", "--cleanup")); diff != "" {
		t.Errorf("a cleanup is another kind (-want +got):\n%s", diff)
	}
}

func TestCommands_ErrorsAreInPlainWords(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	stranger := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	operator := s.as(s.operatorKey)
	const nobody = "01930000-0000-7000-8000-000000000000"
	for name, c := range map[string]struct {
		environ []string
		args    string
		code    int
		says    string // a regular expression
	}{
		"a tenant that isn't there": {operator, "tenant show " + nobody, exitFailed,
			`^holdfast: There is no tenant of that id. \(tenant_not_found, request [0-9a-f-]{36}\)\n$`},
		"what the description doesn't allow": {operator, "operator create " + strings.Repeat("x", 1000) + " --scopes operator:read", exitFailed,
			`\(request_invalid, request \S+\)\n  /name: too_long\n$`},
		"a handle policy that is none": {operator, "tenant create acme --handle-policy latin", exitUsage,
			`^holdfast: invalid argument "latin" for "--handle-policy" flag: it is not one of ascii, unicode\n`},
		"a scope that a tenant can't have": {operator, "operator create second --scopes identity:read", exitFailed,
			`^holdfast: A scope is not one that can be granted here. .*\n  /scopes: scope_not_grantable\n$`},
		"nobody at the address": {[]string{"HOLDFAST_URL=http://127.0.0.1:1", "HOLDFAST_API_KEY=" + s.operatorKey}, "token", exitFailed,
			`^holdfast: the API at http://127.0.0.1:1 can't be reached: connection refused\n$`},
		"somebody else at the address": {[]string{"HOLDFAST_URL=" + stranger.URL, "HOLDFAST_API_KEY=" + s.operatorKey}, "tenant list", exitFailed,
			`^holdfast: http://\S+ answers with HTTP status 404, and not as Holdfast does\n$`},
		"no key":                    {nil, "tenant list", exitUsage, `^holdfast: the configuration is wrong:\nHOLDFAST_API_KEY: is required`},
		"a word too few":            {operator, "principal disable " + nobody, exitUsage, `^holdfast: usage: holdfast principal disable TENANT PRINCIPAL`},
		"a name for an id":          {operator, "tenant show acme", exitUsage, `^holdfast: TENANT "acme" is not an id\n`},
		"a way up the path":         {operator, "key revoke " + nobody + " ..", exitUsage, `^holdfast: KEY ".." is not an id\n`},
		"an id of another form":     {operator, "client disable " + nobody + " " + nobody, exitUsage, `^holdfast: CLIENT "` + nobody + `" is not an id\n`},
		"a client that isn't there": {operator, "client disable " + nobody + " hfc_" + strings.ReplaceAll(nobody, "-", ""), exitFailed, `\(tenant_not_found, request `},
		"a URI that is nobody's": {operator, "client create " + nobody + " tv --verification-uri acme.example", exitFailed,
			`\(verification_uri_invalid, request \S+\)\n  /verification_uri: verification_uri_invalid\n$`},
		"no verification URI":     {operator, "client create " + nobody + " tv", exitUsage, `^holdfast: required flag\(s\) "verification-uri" not set\n`},
		"no scopes":               {operator, "operator create second", exitUsage, `^holdfast: required flag\(s\) "scopes" not set\n`},
		"a time that is none":     {operator, "operator key create " + nobody + " --expires-at tomorrow", exitUsage, `^holdfast: invalid argument "tomorrow"`},
		"a command that is none":  {operator, "identity sweep rnu", exitUsage, `^holdfast: unknown command "rnu"`},
		"an expiry that has been": {operator, "operator key create " + nobody + " --expires-at 2020-01-01T00:00:00Z", exitFailed, `expir`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refused(t, c.environ, c.code, strings.Fields(c.args)...)
			if !regexp.MustCompile(c.says).MatchString(got) {
				t.Errorf("it says\n%s\nwant %s", got, c.says)
			}
		})
	}
}
