package holdfast_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// golden is a recorded journal that has every kind of entry, with its hashes.
type golden struct {
	Tenant  string `json:"tenant_id"`
	World   string `json:"world_id"`
	Root    string `json:"root"`
	Entries []struct {
		Entry json.RawMessage `json:"entry"`
		Hash  string          `json:"hash"`
	} `json:"entries"`
}

func readGolden(t *testing.T) (g golden) {
	t.Helper()
	text, err := os.ReadFile("../../internal/domain/lease/journal/testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Entries) < 10 {
		t.Fatalf("the recorded journal has only %d entries", len(g.Entries))
	}
	return g
}

func TestJournalChain_FollowsTheRecordedJournalHashByHash(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	chain := holdfast.NewJournalChain(g.Tenant, g.World)
	if chain.Hash != g.Root {
		t.Errorf("it begins at %s, not at %s", chain.Hash, g.Root)
	}
	for i, line := range g.Entries {
		if err := chain.Follow(line.Entry); err != nil {
			t.Fatal(err)
		}
		if want := (holdfast.JournalChain{Position: int64(i) + 1, Hash: line.Hash}); chain != want {
			t.Fatalf("it comes to %+v, not %+v", chain, want)
		}
	}
}

func TestJournalChain_GoesOnFromWhatWasKept(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	kept := holdfast.JournalChain{Position: 5, Hash: g.Entries[4].Hash}
	if err := kept.Follow(g.Entries[5].Entry); err != nil {
		t.Error(err)
	}
	other := holdfast.JournalChain{Position: 5, Hash: g.Entries[3].Hash}
	if err := other.Follow(g.Entries[5].Entry); err == nil {
		t.Error("an entry follows another than the one before it")
	}
}

func TestJournalChain_WithoutARootTakesTheFirstHashAtItsWordAndNoOther(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	var chain holdfast.JournalChain
	for _, line := range g.Entries {
		if err := chain.Follow(line.Entry); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := holdfast.NewJournalChain(g.Tenant, "eu-2.harbour")
	if err := elsewhere.Follow(g.Entries[0].Entry); err == nil {
		t.Error("a journal is followed as another world's")
	}
}

func TestJournalChain_RefusesWhatIsNotTheNextEntryAndStaysWhereItIs(t *testing.T) {
	t.Parallel()
	g := readGolden(t)
	second, third := string(g.Entries[1].Entry), string(g.Entries[2].Entry)
	swap := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%s is not in %s", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	for name, c := range map[string]struct {
		at   int // entries followed before
		line string
	}{
		"another payload":             {1, swap(second, "aGVsbG8=", "aGVsbG9v")},
		"no payload":                  {1, swap(second, `"payload": "aGVsbG8=",`, "")},
		"a payload that isn't base64": {1, swap(second, "aGVsbG8=", "aGVsbG8")},
		"another value":               {2, swap(third, "12.5", "12.6")},
		"another actor":               {1, swap(second, `"type": "principal"`, `"type": "operator"`)},
		"another time":                {1, swap(second, "09:30:01.25", "09:30:01.35")},
		"a member more":               {1, swap(second, `"epoch"`, `"extra": 1, "epoch"`)},
		"a member twice":              {1, swap(second, `"epoch"`, `"position": 2, "epoch"`)},
		"a gap":                       {1, third},
		"the same again":              {2, second},
		"no position":                 {1, swap(second, `"position": 2,`, "")},
		"no hash":                     {1, swap(second, `"hash"`, `"hush"`)},
		"no object":                   {1, "[]"},
		"nothing":                     {1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			chain := holdfast.NewJournalChain(g.Tenant, g.World)
			for _, line := range g.Entries[:c.at] {
				if err := chain.Follow(line.Entry); err != nil {
					t.Fatal(err)
				}
			}
			before := chain
			if err := chain.Follow([]byte(c.line)); err == nil || chain != before {
				t.Errorf("%v, and it is at %+v", err, chain)
			}
		})
	}
}
