package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// node is a tenant's process, and its world.
type node struct {
	*holdfast.ClientWithResponses
	tenant, world, principal string
	grant                    holdfast.LeaseGrant // none before it has acquired
}

// node makes a tenant with a world, which the coordinator holds.
func (s *service) node(t *testing.T, name string) *node {
	t.Helper()
	n := &node{tenant: told[holdfast.Tenant](t, s, "tenant", "create", name).ID, world: "north-7"}
	n.principal = told[holdfast.Principal](t, s, "principal", "create", n.tenant, "node", "--scopes", "lease:admin,lease:hold,lease:read").ID
	key := told[holdfast.CreatedAPIKey](t, s, "key", "create", n.tenant, n.principal)
	var err error
	n.ClientWithResponses, err = holdfast.Connect(s.url, key.APIKey)
	must(t, err)
	_, err = n.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: n.world})
	must(t, err)
	return n
}

func (n *node) acquire(t *testing.T) *node {
	t.Helper()
	acquired, err := n.AcquireLeaseWithResponse(t.Context(), n.world, holdfast.LeaseRequest{
		RequestID: "boot-1", TermSeconds: new(int64(600)), ActivateWithinSeconds: new(int64(600)),
	})
	must(t, err)
	n.grant = *acquired.JSON200
	return n
}

// hold also activates the lease, by the entry at position 3: until then a renewal
// changes nothing.
func (n *node) hold(t *testing.T) *node {
	t.Helper()
	n.acquire(t)
	replayed, err := n.GetLeaseWithResponse(t.Context(), n.world, nil)
	must(t, err)
	_, err = n.ActivateLeaseWithResponse(t.Context(), n.world, &holdfast.ActivateLeaseParams{HoldfastLease: n.presented()},
		holdfast.LeaseActivation{ReplayedPosition: n.grant.HandoffPosition, ChainHash: *replayed.JSON200.ChainHash})
	must(t, err)
	return n
}

// presented is the lease as the header has it.
func (n *node) presented() string { return fmt.Sprint(n.grant.Epoch, ".", n.grant.Secret) }

func (n *node) renew(t *testing.T) error {
	t.Helper()
	_, err := n.RenewLeaseWithResponse(t.Context(), n.world, &holdfast.RenewLeaseParams{HoldfastLease: n.presented()})
	return err
}

// expectHeld fails unless the node still has the lease that it was granted.
func (n *node) expectHeld(t *testing.T, why string) {
	t.Helper()
	if err := n.renew(t); err != nil {
		t.Errorf("%s: the node's lease is gone: %v", why, err)
	}
}

func TestLeaseShow_TellsWhoMayWriteAndWhatARevocationNames(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	n := s.node(t, "acme")
	hosted := regexp.MustCompile(`^WORLD             north-7
HOLDER            coordinator
EPOCH             1
ACTIVATED         yes
EXPIRES           -
REMAINING         -
TERM              -
GRANTED POSITION  1
RENEWED POSITION  1
WRITTEN POSITION  1
LAST POSITION     1
AT                20\S+Z
$`)
	if got := s.said(t, "lease", "show", n.tenant, n.world); !hosted.MatchString(got) {
		t.Errorf("hosted, lease show says\n%s", got)
	}
	n.acquire(t)
	held := regexp.MustCompile(`
HOLDER            principal holdfast ` + n.principal + `
EPOCH             2
ACTIVATED         no; due by 20\S+Z
EXPIRES           20\S+Z
REMAINING         9m5\S+s
TERM              10m0s
GRANTED POSITION  2
RENEWED POSITION  2
`)
	if got := s.said(t, "lease", "show", n.tenant, n.world); !held.MatchString(got) {
		t.Errorf("held, lease show says\n%s", got)
	}
	n = s.node(t, "initech").hold(t)
	must(t, n.renew(t))
	shown := told[holdfast.Lease](t, s, "lease", "show", n.tenant, n.world)
	seen, err := n.GetLeaseWithResponse(t.Context(), n.world, nil)
	must(t, err)
	want := *seen.JSON200
	want.RemainingMs, want.At = shown.RemainingMs, shown.At // time goes on
	if diff := cmp.Diff(want, shown); diff != "" || *shown.RenewedPosition != 5 {
		t.Errorf("(-the tenant sees +the operator sees):\n%s", diff)
	}
}

func TestLeaseShow_AtAPosition_ProvesItToTheLetter(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	n := s.node(t, "acme").hold(t)
	must(t, n.renew(t))
	table := regexp.MustCompile(`^WORLD        north-7
POSITION     3
HOLDER       principal holdfast ` + n.principal + `
EPOCH        2
MADE SO BY   lease_handed_off
AT POSITION  2
AT           20\S+Z
HASH         [0-9a-f]{64}
$`)
	show := []string{"lease", "show", n.tenant, n.world, "--position", "3"}
	if got := s.said(t, show...); !table.MatchString(got) {
		t.Errorf("lease show says\n%s", got)
	}
	var given struct{ Proof json.RawMessage }
	must(t, json.Unmarshal([]byte(s.said(t, append(show, "--json")...)), &given))
	var line strings.Builder
	encoder := json.NewEncoder(&line)
	must(t, encoder.Encode(given.Proof))
	if entry, err := journal.ParseLine([]byte(line.String())); err != nil || entry.Position != 2 || entry.Kind != journal.KindLeaseHandedOff {
		t.Errorf("the proof is %s: %v", line.String(), err)
	}
}

func TestLeaseRevoke_TakesTheLeaseThatItLookedAt(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	n := s.node(t, "acme").hold(t)
	got := execute(t, s.as(s.operatorKey), "lease", "revoke", n.tenant, n.world, "--reason", "It hangs.", "--yes")
	said := regexp.MustCompile(`^World north-7: principal holdfast ` + n.principal + ` has the lease of epoch 2, renewed at position 4, until 20\S+Z\.\n$`)
	const writer = "WORLD     north-7\nHOLDER    coordinator\nEPOCH     3\nPOSITION  6\n"
	if got.code != exitOK || got.stdout != writer || !said.MatchString(got.stderr) {
		t.Errorf("lease revoke: %+v", got)
	}
	if err := n.renew(t); !holdfast.IsCode(err, "fenced") {
		t.Errorf("the node renews behind it: %v", err)
	}
	page, err := n.ReadJournalWithResponse(t.Context(), n.world, &holdfast.ReadJournalParams{After: new(int64(4))})
	must(t, err)
	if text := string(page.Body); !strings.Contains(text, `"reason":"It hangs."`) || !strings.Contains(text, `"type":"operator"`) {
		t.Errorf("the journal says %s", text)
	}
}

// What the operator was shown isn't there any more: the node was alive.
func TestLeaseRevoke_RenewedInBetween_DoesNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	n := s.node(t, "acme").hold(t)
	target, err := url.Parse(s.url)
	must(t, err)
	behind := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/lease/revoke") {
			n.expectHeld(t, "before the revocation arrives")
		}
		behind.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	environ := []string{"HOLDFAST_URL=" + between.URL, "HOLDFAST_API_KEY=" + s.operatorKey}
	says := refused(t, environ, exitFailed, "lease", "revoke", n.tenant, n.world, "--reason", "It hangs.", "--yes")
	want := regexp.MustCompile(`renewed at position 4, until \S+
holdfast: The lease has changed since it was looked at. Nothing was revoked; look again. \(lease_changed, request \S+\)
It is of epoch 2 now, renewed at position 5. Look again: holdfast lease show ` + n.tenant + ` north-7
If it still has to go: holdfast lease revoke ` + n.tenant + ` north-7 --reason … --yes
`)
	if !want.MatchString(says) {
		t.Errorf("it says\n%s", says)
	}
	n.expectHeld(t, "behind the revocation")
}

func TestLeaseRevoke_OfAnEarlierLook_NeitherLooksNorAsks(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	n := s.node(t, "acme").hold(t)
	must(t, n.renew(t)) // position 5
	revoke := []string{"lease", "revoke", n.tenant, n.world, "--reason", "It hangs.", "--epoch", "2", "--renewed-position"}
	if says := refused(t, s.as(s.operatorKey), exitFailed, append(revoke, "4")...); !strings.Contains(says, "(lease_changed, ") {
		t.Errorf("of a look before a renewal: %s", says)
	}
	if done := told[holdfast.WriterChange](t, s, append(revoke, "5")...); done.Epoch != 3 || done.Holder.Type != "coordinator" {
		t.Errorf("it gives %+v", done)
	}
	if says := refused(t, s.as(s.operatorKey), exitFailed, append(revoke, "5")...); !strings.Contains(says, "(lease_not_held, ") {
		t.Errorf("again: %s", says)
	}
}

func TestLease_ErrorsAreInPlainWords(t *testing.T) {
	t.Parallel()
	s := serve(t, "data1")
	n := s.node(t, "acme")
	reader := told[holdfast.Principal](t, s, "operator", "create", "reader", "--scopes", "operator:read").ID
	read := s.as(told[holdfast.CreatedAPIKey](t, s, "operator", "key", "create", reader).APIKey)
	operator := s.as(s.operatorKey)
	const nobody = " 01930000-0000-7000-8000-000000000000 "
	world := " " + n.tenant + " " + n.world
	if got := execute(t, read, strings.Fields("lease show"+world)...); got.code != exitOK {
		t.Errorf("with operator:read alone, lease show: %+v", got)
	}
	for name, c := range map[string]struct {
		environ []string
		args    string
		code    int
		says    string
	}{
		"a tenant that isn't there":           {operator, "lease show" + nobody + n.world, exitFailed, "There is no tenant of that id. (tenant_not_found, "},
		"a world that isn't there":            {operator, "lease show " + n.tenant + " south-1", exitFailed, "There is no world with this id. (world_not_found, "},
		"a way up the path":                   {operator, "lease show " + n.tenant + " ..", exitUsage, `WORLD ".." is not an id`},
		"a position beyond the end":           {operator, "lease show --position 2" + world, exitFailed, "(position_not_found, "},
		"a position before the beginning":     {operator, "lease show --position 0" + world, exitFailed, "(position_not_found, "},
		"what no node has":                    {operator, "lease revoke --yes --reason x" + world, exitFailed, "no node has the lease of world north-7: the coordinator is the writer, at epoch 1\n"},
		"no reason":                           {operator, "lease revoke --yes" + world, exitUsage, `required flag(s) "reason" not set`},
		"half a look":                         {operator, "lease revoke --reason x --epoch 2" + world, exitUsage, "[renewed-position]"},
		"Holdfast's own reason":               {operator, "lease revoke --reason expiry --epoch 2 --renewed-position 2" + world, exitFailed, "(reason_invalid, "},
		"who may only look":                   {read, "lease revoke --reason x --epoch 2 --renewed-position 2" + world, exitFailed, "(insufficient_scope, "},
		"a revocation in no tenant":           {operator, "lease revoke --yes --reason x" + nobody + n.world, exitFailed, "(tenant_not_found, "},
		"a tenant that isn't there, not seen": {operator, "lease revoke --reason x --epoch 2 --renewed-position 2" + nobody + n.world, exitFailed, "(tenant_not_found, "},
	} {
		if says := refused(t, c.environ, c.code, strings.Fields(c.args)...); !strings.HasPrefix(says, "holdfast: ") || !strings.Contains(says, c.says) {
			t.Errorf("%s: it says\n%s\nwant %s", name, says, c.says)
		}
	}
}
