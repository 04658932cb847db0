package httpapi

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// checkpointSeed is that of the key that signs in these tests.
var checkpointSeed = make([]byte, ed25519.SeedSize)

func (f *fakeCoordinator) Checkpoint(ctx context.Context, scope tenancy.Scope, world string) (journal.Checkpoint, error) {
	signed := journal.Checkpoint{
		Tenant: scope.Tenant, World: world, Position: 17, Hash: theHash, At: time.Date(2026, 11, 30, 12, 0, 0, 250e6, time.UTC), KeyID: "one",
	}
	signed.Signature = ed25519.Sign(ed25519.NewKeyFromSeed(checkpointSeed), signed.Signed())
	return signed, f.called(ctx, world)
}

func (f *fakeCoordinator) Heat(ctx context.Context, _ tenancy.Scope, world string) (lease.Heat, error) {
	heat := lease.Heat{World: world, Band: lease.BandNone}
	if !f.hosted {
		heat = lease.Heat{World: world, Band: lease.BandHot, Advice: lease.AdviseSpill, Rate: 1200.5, Wait: 12 * time.Millisecond,
			Since: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), MeasuredAt: time.Date(2026, 11, 30, 12, 5, 0, 0, time.UTC)}
	}
	return heat, f.called(ctx, world)
}

type fakeCheckpointKeys struct{}

func (fakeCheckpointKeys) JWKS(context.Context) (tenancy.JWKS, error) {
	return tenancy.JWKS{Keys: []tenancy.JWK{{KeyType: "OKP", Curve: "Ed25519", Use: "sig", Algorithm: "EdDSA", KeyID: "one",
		X: "O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik"}}}, nil
}

// A checkpoint is answered to the letter of what was signed, so that who keeps the
// answer and the published keys can verify it in years.
func TestCheckpoint_VerifiesWithThePublishedKeys(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: "/v1/worlds/north-7/journal/checkpoint"})
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"at":"2026-11-30T12:00:00.250000Z"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	kept, err := journal.ParseCheckpoint(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	w = a.do(t, request{method: "GET", target: "/.well-known/holdfast-checkpoint-keys.json", anonymous: true})
	keys, err := journal.ParseKeys(w.Body.Bytes())
	if err != nil || w.Header().Get("Cache-Control") != "public, max-age=600" {
		t.Errorf("%v, %v: %s", err, w.Header(), w.Body)
	}
	if err := keys.Verify(kept); err != nil || kept.World != "north-7" || kept.Position != 17 {
		t.Errorf("%+v: %v", kept, err)
	}
	a.coordinator.err = domain.NotFound("world_not_found", "There is no world with this id.")
	if p := problemIn(t, a.do(t, request{method: "GET", target: "/v1/worlds/north-8/journal/checkpoint"})); p.Code != "world_not_found" {
		t.Errorf("of no world: %s", p.Code)
	}
}

func TestHeat_SaysSinceWhenIfAnybodyWatches(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	for hosted, want := range map[bool]string{
		false: `{"advice":"spill","band":"hot","measured_at":"2026-11-30T12:05:00Z","rate":1200.5,"since":"2026-11-30T12:00:00Z","wait_seconds":0.012,"world_id":"north-7"}`,
		true:  `{"band":"none","rate":0,"wait_seconds":0,"world_id":"north-7"}`,
	} {
		a.coordinator.hosted = hosted
		w := a.do(t, request{method: "GET", target: "/v1/worlds/north-7/heat"})
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != want {
			t.Errorf("%d %s, want %s", w.Code, got, want)
		}
	}
}
