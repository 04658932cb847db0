package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	worldlog "github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// player is a principal of a tenant with worlds.
type player struct {
	*holdfast.ClientWithResponses
	url, token string
	tenant     domain.TenantID
	id         string
}

// player makes a principal of the tenant that may do everything with its worlds.
// Its requests are sent once.
func (s *stack) player(t testing.TB, r *running, tenant, name string) *player {
	t.Helper()
	operator := s.operator(t, r)
	principal, err := operator.CreatePrincipalWithResponse(t.Context(), tenant, nil,
		holdfast.NewPrincipal{Name: name, Scopes: []string{"lease:admin", "lease:append", "lease:hold", "lease:read"}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := operator.CreateAPIKeyWithResponse(t.Context(), tenant, principal.JSON201.ID, nil, holdfast.NewAPIKey{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := holdfast.BuyToken(t.Context(), r.url, key.JSON201.APIKey)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{
		ClientWithResponses: connect(t, r, key.JSON201.APIKey, holdfast.WithAttempts(1)),
		url:                 r.url, token: token.AccessToken, id: principal.JSON201.ID,
	}
	if err := p.tenant.UnmarshalText([]byte(tenant)); err != nil {
		t.Fatal(err)
	}
	return p
}

// replay reads a world's journal as lines and applies each of them.
func (p *player) replay(t testing.TB, world string) (worldlog.State, []worldlog.Entry) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", p.url+"/v1/worlds/"+world+"/journal", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("Accept", "application/x-ndjson")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %s %v", response.StatusCode, text, err)
	}
	state := worldlog.Begin(p.tenant, world)
	var entries []worldlog.Entry
	for line := range bytes.Lines(text) {
		entry, err := worldlog.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		if err := state.Apply(entry); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		entries = append(entries, entry)
	}
	return state, entries
}

// write appends one entry, with a lease or without.
func (p *player) write(t testing.TB, world, id, value string, lease *holdfast.LeaseGrant) (holdfast.AppendReceipt, error) {
	t.Helper()
	var params holdfast.AppendEntriesParams
	if lease != nil {
		params.HoldfastLease = ptr(presented(*lease))
	}
	written, err := p.AppendEntriesWithResponse(t.Context(), world, &params,
		holdfast.NewEntries{Entries: []holdfast.NewEntry{{EntryID: id, JSON: json.RawMessage(value)}}})
	switch {
	case err != nil:
		return holdfast.AppendReceipt{}, err
	case written.JSON200 != nil:
		return *written.JSON200, nil
	}
	return *written.JSON201, nil
}

func (p *player) mustWrite(t testing.TB, world, id, value string, lease *holdfast.LeaseGrant) holdfast.AppendReceipt {
	t.Helper()
	receipt, err := p.write(t, world, id, value, lease)
	if err != nil {
		t.Fatalf("append %s: %v", id, err)
	}
	return receipt
}

func TestLease_AWorldGoesToANodeAndComesBack(t *testing.T) {
	t.Parallel()
	const world = "north-7"
	s := newStack(t, 3)
	r := s.serve(t)
	tenant := s.tenant(t, r, "acme").id
	app, node := s.player(t, r, tenant, "backend"), s.player(t, r, tenant, "node")
	if _, err := app.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: world}); err != nil {
		t.Fatal(err)
	}

	// Hosted: whoever has the scope writes through Holdfast.
	hosted := app.mustWrite(t, world, "turn-1", `{"turn":1.0}`, nil)
	again := app.mustWrite(t, world, "turn-1", `{ "turn": 1 }`, nil)
	if hosted.Replayed || !again.Replayed || again.ChainHash != hosted.ChainHash {
		t.Errorf("receipts %+v and %+v", hosted, again)
	}

	// The node takes over, and may not write before it has replayed.
	acquired, err := node.AcquireLeaseWithResponse(t.Context(), world, holdfast.LeaseRequest{RequestID: "boot-1"})
	if err != nil {
		t.Fatal(err)
	}
	lease := *acquired.JSON200
	if lease.Epoch != 2 || lease.HandoffPosition != hosted.Positions[0]+1 || lease.RemainingMs <= 0 || lease.RemainingMs > 30_000 {
		t.Errorf("the lease is %+v", lease)
	}
	expectFence(t, app, world, "fenced", node.id, 2)
	if _, err := node.write(t, world, "early", "1", &lease); !holdfast.IsCode(err, "lease_not_activated") {
		t.Errorf("before the activation: %v", err)
	}
	activation := holdfast.LeaseActivation{ReplayedPosition: lease.HandoffPosition, ChainHash: hosted.ChainHash}
	held := holdfast.ActivateLeaseParams{HoldfastLease: presented(lease)}
	if _, err := node.ActivateLeaseWithResponse(t.Context(), world, &held, activation); !holdfast.IsCode(err, "replay_mismatch") {
		t.Errorf("activation with the hash before: %v", err)
	}
	_, entries := node.replay(t, world)
	activation.ChainHash = entries[lease.HandoffPosition-1].Hash.String()
	if _, err := node.ActivateLeaseWithResponse(t.Context(), world, &held, activation); err != nil {
		t.Fatal(err)
	}
	own := node.mustWrite(t, world, "turn-2", `"played at the node"`, &lease)

	// Renewals: one that is good, and one of a world that isn't there.
	renewed, err := node.RenewLeasesWithResponse(t.Context(), holdfast.LeaseRenewals{Renewals: []holdfast.LeaseToRenew{
		{WorldID: world, Epoch: lease.Epoch, Secret: lease.Secret}, {WorldID: "nowhere", Epoch: 2, Secret: "s"}, {WorldID: world, Epoch: 1, Secret: lease.Secret},
	}})
	if err != nil {
		t.Fatal(err)
	}
	results := renewed.JSON200.Results
	if len(results) != 3 || results[0].Renewal == nil || results[1].Refusal.Code != "world_not_found" || results[2].Refusal.Code != "fenced" {
		t.Errorf("renewals: %s", renewed.Body)
	}
	expectFence(t, app, world, "fenced", node.id, 2)

	// Back to Holdfast: what the node still sends is fenced, and a retry of what was
	// written finds its receipt.
	if _, err := node.HandOffLeaseWithResponse(t.Context(), world, &holdfast.HandOffLeaseParams{HoldfastLease: presented(lease)},
		holdfast.LeaseHandoff{To: holdfast.HandOffToCoordinator}); err != nil {
		t.Fatal(err)
	}
	if _, err := node.write(t, world, "late", "1", &lease); !holdfast.IsCode(err, "fenced") {
		t.Errorf("behind the handoff: %v", err)
	}
	if late := node.mustWrite(t, world, "turn-2", `"played at the node"`, &lease); !late.Replayed || late.ChainHash != own.ChainHash {
		t.Errorf("the receipt of turn 2 was %+v, and is %+v", own, late)
	}
	app.mustWrite(t, world, "turn-3", "3", nil)

	expectProof(t, app, world, own.Positions[0], node.id, entries[lease.HandoffPosition-1])
	expectHead(t, app, world)
	if strings.Contains(r.log.String(), lease.Secret) {
		t.Error("the log has the lease's secret")
	}
}

// expectFence writes without a lease, in vain.
func expectFence(t *testing.T, p *player, world, code, holder string, epoch int64) {
	t.Helper()
	_, err := p.write(t, world, fmt.Sprint("fenced-", time.Now().UnixNano()), "1", nil)
	var refused *holdfast.Error
	if !errors.As(err, &refused) || refused.Code != code || refused.Status != http.StatusConflict {
		t.Fatalf("%v, want %s", err, code)
	}
	if refused.Epoch == nil || *refused.Epoch != epoch || refused.Holder == nil || refused.Holder.Subject != holder {
		t.Errorf("the fence names %v at %v", refused.Holder, refused.Epoch)
	}
}

// expectProof asks who held the lease at a position: the holder, by that entry.
func expectProof(t *testing.T, p *player, world string, position int64, holder string, made worldlog.Entry) {
	t.Helper()
	answer, err := p.GetLeaseWithResponse(t.Context(), world, &holdfast.GetLeaseParams{Position: &position})
	if err != nil {
		t.Fatal(err)
	}
	var proof struct{ Proof json.RawMessage }
	if err := json.Unmarshal(answer.Body, &proof); err != nil {
		t.Fatal(err)
	}
	entry, err := worldlog.ParseLine(proof.Proof)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(made, entry); diff != "" || answer.JSON200.Holder.Subject != holder {
		t.Errorf("the proof of %s (-the journal's +it):\n%s", answer.Body, diff)
	}
}

// expectHead holds the lease as it is told against the replay of the journal.
func expectHead(t *testing.T, p *player, world string) {
	t.Helper()
	state, _ := p.replay(t, world)
	answer, err := p.GetLeaseWithResponse(t.Context(), world, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := answer.JSON200
	want := holdfast.Lease{
		WorldID: world, Position: state.Position, Epoch: state.Epoch, Holder: holdfast.JournalActor{Type: "coordinator"},
		Activated: ptr(true), GrantedPosition: &state.GrantedPosition, RenewedPosition: &state.RenewedPosition, WrittenPosition: &state.WrittenPosition,
		ChainHash: ptr(state.Hash.String()), At: got.At,
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("the lease (-by the journal +as told):\n%s", diff)
	}
}

func TestLease_AnOperatorTakesItFromANode(t *testing.T) {
	t.Parallel()
	const world = "north-7"
	s := newStack(t, 2)
	r := s.serve(t)
	tenant := s.tenant(t, r, "acme").id
	node := s.player(t, r, tenant, "node")
	if _, err := node.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: world}); err != nil {
		t.Fatal(err)
	}
	acquired, err := node.AcquireLeaseWithResponse(t.Context(), world, holdfast.LeaseRequest{RequestID: "boot-1"})
	if err != nil {
		t.Fatal(err)
	}
	operator := s.operator(t, r)
	revocation := holdfast.LeaseRevocation{Epoch: 2, RenewedPosition: acquired.JSON200.HandoffPosition - 1, Reason: "It hangs."}
	var refused *holdfast.Error
	_, err = operator.RevokeTenantLeaseWithResponse(t.Context(), tenant, world, revocation)
	if !errors.As(err, &refused) || refused.Code != "lease_changed" || refused.RenewedPosition == nil {
		t.Fatalf("by an old look: %v", err)
	}
	look, err := operator.GetTenantLeaseWithResponse(t.Context(), tenant, world, nil)
	if err != nil || look.JSON200.Epoch != 2 || *look.JSON200.RenewedPosition != *refused.RenewedPosition {
		t.Fatalf("%v %s", err, look.Body)
	}
	revocation.RenewedPosition = *look.JSON200.RenewedPosition
	revoked, err := operator.RevokeTenantLeaseWithResponse(t.Context(), tenant, world, revocation)
	if err != nil || revoked.JSON200.Epoch != 3 || revoked.JSON200.Holder.Type != "coordinator" {
		t.Fatalf("%v %s", err, revoked.Body)
	}
	_, err = node.RenewLeaseWithResponse(t.Context(), world, &holdfast.RenewLeaseParams{HoldfastLease: presented(*acquired.JSON200)})
	if !holdfast.IsCode(err, "fenced") {
		t.Errorf("a renewal behind it: %v", err)
	}
	_, entries := node.replay(t, world)
	details, err := worldlog.DetailsOf[worldlog.Revoked](&entries[2])
	if err != nil || details.Reason != "It hangs." || details.By.Type != worldlog.ActorOperator {
		t.Errorf("the journal says %s: %v", entries[2].Details, err)
	}
	before, err := operator.GetTenantLeaseWithResponse(t.Context(), tenant, world, &holdfast.GetTenantLeaseParams{Position: &entries[1].Position})
	if err != nil || before.JSON200.Holder.Subject != look.JSON200.Holder.Subject || before.JSON200.Proof.Hash != entries[1].Hash.String() {
		t.Errorf("who had it in front of that: %v %s", err, before.Body)
	}
}

// A wait in line must not hold up a process that is told to stop.
func TestDrain_AWaitInLineEndsAtOnce(t *testing.T) {
	t.Parallel()
	const world = "north-7"
	s := newStack(t, 1)
	r := s.spawn(t, "HOLDFAST_DRAIN_SECONDS=30")
	tenant := s.tenant(t, r, "acme").id
	holder, waiter := s.player(t, r, tenant, "holder"), s.player(t, r, tenant, "waiter")
	if _, err := holder.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: world}); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.AcquireLeaseWithResponse(t.Context(), world, holdfast.LeaseRequest{RequestID: "r", TermSeconds: ptr(int64(600)), ActivateWithinSeconds: ptr(int64(600))}); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := waiter.AcquireLeaseWithResponse(t.Context(), world, holdfast.LeaseRequest{RequestID: "w", WaitSeconds: ptr(int64(60))})
		answered <- err
	}()
	database := s.installation.Admin(t, "data1")
	eventually(t, "it stands in line", func() bool {
		var waiting int
		err := database.QueryRow(t.Context(), `SELECT count(*) FROM lease_waiters WHERE world_id = $1`, world).Scan(&waiting)
		return err == nil && waiting == 1
	})
	if err := r.stop(); err != nil {
		t.Errorf("the process ended with %v\n%s", err, r.log)
	}
	if err := <-answered; !holdfast.IsCode(err, "draining") {
		t.Errorf("the wait ended with %v", err)
	}
	var waiting int
	if err := database.QueryRow(t.Context(), `SELECT count(*) FROM lease_waiters`).Scan(&waiting); err != nil || waiting != 0 {
		t.Errorf("%d still stand in line: %v", waiting, err)
	}
}
