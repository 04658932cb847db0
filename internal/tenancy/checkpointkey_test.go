package tenancy_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const year = 365 * day

// checkpointKeys are those of another process.
func (in *installation) checkpointKeys(t testing.TB, role string, keys ...tenancy.ServerKey) *tenancy.CheckpointKeys {
	t.Helper()
	return tenancy.NewCheckpointKeys(in.startOn(t, in.databases.Router(t, role), nil, keys...).store)
}

func checkpointSigner(t testing.TB, k *tenancy.CheckpointKeys) (id string, key ed25519.PrivateKey) {
	t.Helper()
	id, key, err := k.CheckpointKey(t.Context())
	must(t, err)
	return id, key
}

// publishedCheckpointKeys are the ids, and the public halves by them.
func publishedCheckpointKeys(t testing.TB, k *tenancy.CheckpointKeys) (ids []string, public map[string]ed25519.PublicKey) {
	t.Helper()
	set, err := k.JWKS(t.Context())
	must(t, err)
	public = map[string]ed25519.PublicKey{}
	for _, key := range set.Keys {
		x, err := base64.RawURLEncoding.DecodeString(key.X)
		must(t, err)
		ids = append(ids, key.KeyID)
		public[key.KeyID] = x
	}
	return ids, public
}

func TestCheckpointKeys_EachIsPublishedBeforeItSignsAndForGood(t *testing.T) {
	t.Parallel()
	in := bare(t, 1)
	api, worker := in.checkpointKeys(t, postgres.RoleAPI), in.checkpointKeys(t, postgres.RoleWorker)
	first, key := checkpointSigner(t, worker)
	signed := ed25519.Sign(key, []byte("a checkpoint"))
	if id, _ := checkpointSigner(t, api); id != first {
		t.Errorf("the API signs with %s and the worker with %s", id, first)
	}

	all := []string{first}
	for range 3 {
		in.clock.advance(year - time.Minute)
		if id, _ := checkpointSigner(t, api); id != all[len(all)-1] {
			t.Errorf("within the year %s signs", id)
		}
		in.clock.advance(time.Minute)
		if id, _ := checkpointSigner(t, api); id != all[len(all)-1] {
			t.Errorf("%s signs before anybody can know it", id)
		}
		ids, _ := publishedCheckpointKeys(t, api)
		if len(ids) != len(all)+1 || !slices.Equal(ids[:len(all)], all) {
			t.Fatalf("published %v, want %v and the next", ids, all)
		}
		all = ids
		in.clock.advance(tenancy.JWKSMaxAge + 5*time.Minute)
		for _, process := range []*tenancy.CheckpointKeys{api, worker} {
			if id, _ := checkpointSigner(t, process); id != all[len(all)-1] {
				t.Errorf("%s signs, want the newest, %s", id, all[len(all)-1])
			}
		}
	}
	_, public := publishedCheckpointKeys(t, in.checkpointKeys(t, postgres.RoleAPI, serverKey("k2")))
	if !ed25519.Verify(public[first], []byte("a checkpoint"), signed) {
		t.Error("the first key no longer verifies")
	}
	kept := rows(t, in.admin, pgx.RowTo[string], `SELECT kid FROM checkpoint_keys WHERE sealed_private IS NOT NULL ORDER BY signs_from LIMIT 2`)
	if !slices.Equal(kept, all[2:4]) {
		t.Errorf("the private halves of %v are kept, want those of the last two, %v", kept, all[2:4])
	}
}

func TestCheckpointKeys_ManyProcessesMakeOne(t *testing.T) {
	t.Parallel()
	in := bare(t, 1)
	var processes []*tenancy.CheckpointKeys
	for range 6 {
		processes = append(processes, in.checkpointKeys(t, postgres.RoleAPI))
	}
	_, errs := parallel(t.Context(), len(processes), func(ctx context.Context, i int) (string, error) {
		id, _, err := processes[i].CheckpointKey(ctx)
		return id, err
	})
	must(t, errors.Join(errs...))
	if ids, _ := publishedCheckpointKeys(t, processes[0]); len(ids) != 1 {
		t.Errorf("published %v, want one", ids)
	}
}

func TestCheckpointKeys_AServerKeyTakenAwayCostsAKeyAndNoCheckpoint(t *testing.T) {
	t.Parallel()
	in := bare(t, 1)
	first, _ := checkpointSigner(t, in.checkpointKeys(t, postgres.RoleAPI))
	other := in.checkpointKeys(t, postgres.RoleAPI, serverKey("k2"))
	second, key := checkpointSigner(t, other)
	ids, public := publishedCheckpointKeys(t, other)
	if second == first || !slices.Contains(ids, first) || !public[second].Equal(key.Public()) {
		t.Errorf("%s signs and %v are published", second, ids)
	}
}

func TestCheckpointKeys_WithoutServerKeysTheyArePublishedAndNoneIsMade(t *testing.T) {
	t.Parallel()
	in := bare(t, 1)
	reader := func() *tenancy.CheckpointKeys {
		router := in.databases.Router(t, postgres.RoleAPI)
		return tenancy.NewCheckpointKeys(tenancy.NewStore(router.Control(), nil, nil, in.clock.Now))
	}
	if ids, _ := publishedCheckpointKeys(t, reader()); len(ids) != 0 {
		t.Errorf("published %v", ids)
	}
	if _, _, err := reader().CheckpointKey(t.Context()); !errors.Is(err, tenancy.ErrNoServerKey) {
		t.Errorf("it signs, or fails with %v", err)
	}
	first, _ := checkpointSigner(t, in.checkpointKeys(t, postgres.RoleAPI))
	if ids, _ := publishedCheckpointKeys(t, reader()); !slices.Equal(ids, []string{first}) {
		t.Errorf("published %v, want %s", ids, first)
	}
}

// A key that is known goes on signing while the control database is away.
func TestCheckpointKeys_OutlastAnOutage(t *testing.T) {
	t.Parallel()
	in := bare(t, 1)
	router := in.databases.Router(t, postgres.RoleAPI)
	keys := tenancy.NewCheckpointKeys(in.startOn(t, router, nil).store)
	first, _ := checkpointSigner(t, keys)
	in.clock.advance(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // the database can't be asked
	id, _, err := keys.CheckpointKey(ctx)
	if err != nil || id != first {
		t.Errorf("%s signs, %v", id, err)
	}
	if set, err := keys.JWKS(ctx); err != nil || len(set.Keys) != 1 {
		t.Errorf("%d keys are published, %v", len(set.Keys), err)
	}
}
