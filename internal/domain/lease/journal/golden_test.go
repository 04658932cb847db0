package journal_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// golden is testdata/golden.json: a journal with all that goes into its hashes,
// for whoever verifies one in another language. It was made once, and a change
// to it is another format.
type golden struct {
	Tenant     domain.TenantID `json:"tenant_id"`
	World      string          `json:"world_id"`
	Root       journal.Hash    `json:"root"`
	Entries    []goldenEntry   `json:"entries"`
	Keys       json.RawMessage `json:"keys"`
	Checkpoint json.RawMessage `json:"checkpoint"`
	Signed     string          `json:"checkpoint_signed"`
}

type goldenEntry struct {
	Entry  json.RawMessage `json:"entry"`
	Header string          `json:"header"`
	Digest journal.Hash    `json:"digest"`
	Hash   journal.Hash    `json:"hash"`
}

func readGolden(t testing.TB) (g golden) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *golden) entries(t testing.TB) []journal.Entry {
	t.Helper()
	var entries []journal.Entry
	for _, line := range g.Entries {
		e, err := journal.ParseLine(line.Entry)
		if err != nil {
			t.Fatalf("%s: %v", line.Entry, err)
		}
		entries = append(entries, e)
	}
	return entries
}

func TestGolden_HeadersDigestsAndHashesAreTheRecordedOnes(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	if got := journal.Root(g.Tenant, g.World); got != g.Root {
		t.Errorf("the root is %s, not %s", got, g.Root)
	}
	before, kinds := g.Root, map[journal.Kind]bool{}
	for i, e := range g.entries(t) {
		want := g.Entries[i]
		if got := string(e.Header()); got != want.Header {
			t.Errorf("position %d: the header is\n%s, not\n%s", e.Position, got, want.Header)
		}
		if got := e.Digest(); got != want.Digest {
			t.Errorf("position %d: the digest is %s, not %s", e.Position, got, want.Digest)
		}
		if got := e.Chain(before); got != want.Hash || got != e.Hash {
			t.Errorf("position %d: the hash is %s, not %s", e.Position, got, want.Hash)
		}
		before, kinds[e.Kind] = want.Hash, true
	}
	if len(kinds) != 10 {
		t.Errorf("it shows %d kinds, not all 10", len(kinds))
	}
}

// The story of these tests is the one that was recorded: so a change of what is
// written, and not only of how it is hashed, shows here.
func TestGolden_TheStoryIsWrittenAsRecorded(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	if diff := cmp.Diff(g.entries(t), story(t).entries, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-recorded +written):\n%s", diff)
	}
}

func TestGolden_TheCheckpointIsSignedByThePublishedKey(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	checkpoint := must(journal.ParseCheckpoint(g.Checkpoint))
	if got := string(checkpoint.Signed()); got != g.Signed {
		t.Errorf("what is signed is\n%s, not\n%s", got, g.Signed)
	}
	keys := must(journal.ParseKeys(g.Keys))
	if err := keys.Verify(checkpoint); err != nil {
		t.Error(err)
	}
	again := ed25519.Sign(signingKey("2026-11"), checkpoint.Signed()) // Ed25519 is deterministic
	if diff := cmp.Diff(again, checkpoint.Signature); diff != "" {
		t.Errorf("the signature (-again +recorded):\n%s", diff)
	}
}

// signingKey is a key of the tests' own.
func signingKey(id string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("a key for tests: " + id))
	return ed25519.NewKeyFromSeed(seed[:])
}
