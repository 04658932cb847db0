package journal_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// published are the keys of the tests, by which checkpoints are signed.
func published(ids ...string) journal.Keys {
	keys := journal.Keys{}
	for _, id := range ids {
		keys[id] = signingKey(id).Public().(ed25519.PublicKey)
	}
	return keys
}

// checkpoint signs what a journal has at a position.
func checkpoint(b *book, position int, keyID string) journal.Checkpoint {
	e := b.entries[position-1]
	return signed(journal.Checkpoint{Tenant: tenant, World: world, Position: e.Position, Hash: e.Hash, At: e.At, KeyID: keyID})
}

func signed(c journal.Checkpoint) journal.Checkpoint {
	c.Signature = ed25519.Sign(signingKey(c.KeyID), c.Signed())
	return c
}

func verify(entries []journal.Entry, kept ...journal.Checkpoint) (journal.State, error) {
	return journal.Verify(bytes.NewReader(ndjson(entries)), tenant, world, kept, published("old", "new"))
}

// mustBreak demands a rule that is broken, and where.
func mustBreak(t *testing.T, err error, rule journal.Rule, position int) {
	t.Helper()
	var fault *journal.Fault
	if !errors.As(err, &fault) || fault.Rule != rule || fault.Position != int64(position) {
		t.Errorf("%v; want the rule %q at position %d", err, rule, position)
	}
}

func TestVerify_GivesWhereAJournalEnds(t *testing.T) {
	t.Parallel()
	b := story(t)
	for n := 1; n <= len(b.entries); n++ {
		want := journal.Begin(tenant, world)
		for _, e := range b.entries[:n] {
			if err := want.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		got, err := verify(b.entries[:n], checkpoint(b, n, "new"), checkpoint(b, 1, "old"), checkpoint(b, n/2+1, "new"))
		if err != nil {
			t.Errorf("%d entries: %v", n, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d entries (-replayed +verified):\n%s", n, diff)
		}
	}
}

func TestVerify_LastRowsDeleted_FailsAgainstAKeptCheckpoint(t *testing.T) {
	t.Parallel()
	b := story(t)
	n := len(b.entries)
	kept := checkpoint(b, n, "new")
	if _, err := verify(b.entries, kept); err != nil {
		t.Fatal(err)
	}
	for deleted := 1; deleted < n; deleted++ {
		_, err := verify(b.entries[:n-deleted], kept)
		mustBreak(t, err, journal.RuleCheckpoint, n-deleted+1)
	}
	_, err := verify(nil, kept)
	mustBreak(t, err, journal.RuleCheckpoint, 1)
}

// A forger who has the database can write other last rows, and chain them; not the
// ones that were signed.
func TestVerify_LastRowsWrittenAnew_FailsAgainstAKeptCheckpoint(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.writes(shop, "1", nil).writes(shop, "2", nil).writes(shop, "3", nil)
	early, late := checkpoint(b, 2, "old"), checkpoint(b, 4, "new")
	forged := newBook(t)
	forged.writes(shop, "1", nil).writes(shop, "2", nil).writes(shop, "three", nil).writes(shop, "4", nil)
	if _, err := verify(forged.entries, early); err != nil {
		t.Errorf("what the early checkpoint covers is as it was: %v", err)
	}
	_, err := verify(forged.entries, late, early)
	mustBreak(t, err, journal.RuleCheckpoint, 4)
}

func TestVerify_RefusesACheckpointThatProvesNothing(t *testing.T) {
	t.Parallel()
	b := story(t)
	good := checkpoint(b, 5, "new")
	otherTenant := domain.RandomID[domain.TenantKind]()
	for what, c := range map[string]journal.Checkpoint{
		"signed by another key":      {Tenant: good.Tenant, World: good.World, Position: 5, Hash: good.Hash, At: good.At, KeyID: "new", Signature: checkpoint(b, 5, "old").Signature},
		"of a key that is not given": checkpoint(b, 5, "unknown"),
		"of another world":           signed(journal.Checkpoint{Tenant: tenant, World: "elsewhere", Position: 5, Hash: good.Hash, At: good.At, KeyID: "new"}),
		"of another tenant":          signed(journal.Checkpoint{Tenant: otherTenant, World: world, Position: 5, Hash: good.Hash, At: good.At, KeyID: "new"}),
		"of another hash":            signed(journal.Checkpoint{Tenant: tenant, World: world, Position: 5, Hash: b.entries[5].Hash, At: good.At, KeyID: "new"}),
		"with a hash changed":        {Tenant: tenant, World: world, Position: 5, Hash: b.entries[5].Hash, At: good.At, KeyID: "new", Signature: good.Signature},
		"with a time changed":        {Tenant: tenant, World: world, Position: 5, Hash: good.Hash, At: good.At.AddDate(0, 0, 1), KeyID: "new", Signature: good.Signature},
		"without a signature":        {Tenant: tenant, World: world, Position: 5, Hash: good.Hash, At: good.At, KeyID: "new"},
		"with half a signature":      {Tenant: tenant, World: world, Position: 5, Hash: good.Hash, At: good.At, KeyID: "new", Signature: good.Signature[:32]},
		"of the root":                signed(journal.Checkpoint{Tenant: tenant, World: world, Position: 5, Hash: journal.Root(tenant, world), At: good.At, KeyID: "new"}),
	} {
		_, err := verify(b.entries, good, c)
		var fault *journal.Fault
		if !errors.As(err, &fault) || fault.Rule != journal.RuleCheckpoint || fault.Position != 5 {
			t.Errorf("%s: %v", what, err)
		}
	}
	zero := signed(journal.Checkpoint{Tenant: tenant, World: world, Hash: journal.Root(tenant, world), At: start, KeyID: "new"})
	_, err := verify(b.entries, zero)
	mustBreak(t, err, journal.RuleCheckpoint, 0)
}

func TestVerify_RefusesAnothersJournal(t *testing.T) {
	t.Parallel()
	text := ndjson(story(t).entries)
	_, err := journal.Verify(bytes.NewReader(text), tenant, "eu-1.harbor", nil, nil)
	mustBreak(t, err, journal.RuleChain, 1)
	if !strings.Contains(err.Error(), "as the first of this tenant's world") {
		t.Errorf("it doesn't say whose it may not be: %v", err)
	}
	_, err = journal.Verify(bytes.NewReader(text), domain.RandomID[domain.TenantKind](), world, nil, nil)
	mustBreak(t, err, journal.RuleChain, 1)
}

func TestVerify_RefusesLinesMovedTakenOutOrTwice(t *testing.T) {
	t.Parallel()
	entries := story(t).entries
	n := len(entries)
	for i := range n {
		if i < n-1 {
			_, err := verify(slices.Delete(slices.Clone(entries), i, i+1))
			mustBreak(t, err, journal.RulePosition, i+2)
			swapped := slices.Clone(entries)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			_, err = verify(swapped)
			mustBreak(t, err, journal.RulePosition, i+2)
		}
		_, err := verify(slices.Insert(slices.Clone(entries), i+1, entries[i]))
		if i < n-1 {
			mustBreak(t, err, journal.RulePosition, i+1)
		} else {
			mustBreak(t, err, journal.RuleRetired, i+1)
		}
	}
}

// A taken-out entry is found also when those behind it are renumbered, but not
// chained again.
func TestVerify_RefusesAnEntryTakenOutAndTheRestRenumbered(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for i := range 8 {
		b.writes(shop, fmt.Sprint(i), nil)
	}
	entries := slices.Delete(slices.Clone(b.entries), 4, 5)
	for i := range entries {
		entries[i].Position = int64(i) + 1
	}
	_, err := verify(entries)
	mustBreak(t, err, journal.RuleChain, 5)
}

func TestVerify_RefusesEveryChangedByteThatMeansSomething(t *testing.T) {
	t.Parallel()
	b := story(t)
	text := ndjson(b.entries)
	random := rand.New(rand.NewPCG(1, 2)) // the same bytes in each run
	refused := 0
	for range 1_000 {
		i, flip := random.IntN(len(text)), byte(1)<<random.IntN(8)
		changed := bytes.Clone(text)
		changed[i] ^= flip
		_, err := journal.Verify(bytes.NewReader(changed), tenant, world, nil, nil)
		if err != nil {
			refused++
			continue
		}
		// Another spelling of the same journal.
		if !slices.EqualFunc(b.entries, mustRead(t, changed), func(a, b journal.Entry) bool { return string(a.AppendJSON(nil)) == string(b.AppendJSON(nil)) }) {
			t.Errorf("byte %d ^ %#x: a changed journal is taken", i, flip)
		}
	}
	if refused < 960 {
		t.Errorf("only %d of 1,000 changed bytes were refused", refused)
	}
}

func mustRead(t *testing.T, text []byte) (entries []journal.Entry) {
	t.Helper()
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, err := journal.ParseLine(line)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	return entries
}

func TestVerify_ReadsLines(t *testing.T) {
	t.Parallel()
	b := story(t)
	text := string(ndjson(b.entries))
	for what, given := range map[string]string{
		"without a last line feed": strings.TrimSuffix(text, "\n"),
		"with carriage returns":    strings.ReplaceAll(text, "\n", "\r\n"),
		"with empty lines":         "\n" + strings.ReplaceAll(text, "\n", "\n \n"),
	} {
		state, err := journal.Verify(iotest.OneByteReader(strings.NewReader(given)), tenant, world, nil, nil)
		if err != nil || state != b.state {
			t.Errorf("%s: %+v, %v", what, state, err)
		}
	}
	for _, given := range []string{"", "\n"} {
		_, err := journal.Verify(strings.NewReader(given), tenant, world, nil, nil)
		mustBreak(t, err, journal.RulePosition, 1)
	}
	_, err := journal.Verify(strings.NewReader(text[:len(text)-20]), tenant, world, nil, nil)
	mustBreak(t, err, journal.RuleLine, len(b.entries))
	_, err = journal.Verify(strings.NewReader("<html>"), tenant, world, nil, nil)
	mustBreak(t, err, journal.RuleLine, 1)
}

func TestVerify_TellsAFailedRead(t *testing.T) {
	t.Parallel()
	text := ndjson(story(t).entries)
	in := io.MultiReader(bytes.NewReader(text[:len(text)/2]), iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := journal.Verify(in, tenant, world, nil, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("it is %v", err)
	}
}

// endless is a line without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read += len(p)
	return len(p), nil
}

func TestVerify_StopsAtALineWithoutEnd(t *testing.T) {
	t.Parallel()
	in := &endless{}
	_, err := journal.Verify(in, tenant, world, nil, nil)
	mustBreak(t, err, journal.RuleLine, 1)
	if in.read > 32<<20 {
		t.Errorf("it read %d MiB", in.read>>20)
	}
}

// The largest entry that can be written fits a line, also when each of its
// characters is escaped.
func TestVerify_TakesTheLargestEntry(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	b := newBook(t)
	b.writes(shop, "bytes", bytes.Repeat([]byte{0xff}, most)).writesJSON(shop, "json", `"`+strings.Repeat("x", most-2)+`"`)
	text := strings.ReplaceAll(string(ndjson(b.entries)), strings.Repeat("x", most-2), strings.Repeat(`\u0078`, most-2))
	if state, err := journal.Verify(strings.NewReader(text), tenant, world, nil, nil); err != nil || state != b.state {
		t.Errorf("%v", err)
	}
}
