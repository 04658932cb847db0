package journal_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// at seconds behind the start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func TestApply_GivesTheWholeState(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for i, step := range []struct {
		what string
		do   func()
		want journal.State
	}{
		{"a new world", func() {},
			journal.State{Epoch: 1, Holder: journal.Coordinator, Activated: true, GrantedPosition: 1, RenewedPosition: 1, WrittenPosition: 1, LastAt: at(0)}},
		{"a hosted entry", func() { b.after(time.Second).writes(shop, "", nil) },
			journal.State{Epoch: 1, Holder: journal.Coordinator, Activated: true, GrantedPosition: 1, RenewedPosition: 1, WrittenPosition: 2, LastAt: at(1)}},
		{"a handoff to a node", func() { b.after(time.Second).handsTo(journal.Coordinator, nodeA) },
			journal.State{Epoch: 2, Holder: nodeA, TermSeconds: 30, ExpiresAt: at(32), ActivateBy: at(62), GrantedPosition: 3, RenewedPosition: 3, WrittenPosition: 3, LastAt: at(2)}},
		{"a rejection", func() { b.rejects(shop, 0, 1) },
			journal.State{Epoch: 2, Holder: nodeA, TermSeconds: 30, ExpiresAt: at(32), ActivateBy: at(62), GrantedPosition: 3, RenewedPosition: 3, WrittenPosition: 3, LastAt: at(2)}},
		{"a renewal", func() { b.after(10 * time.Second).renews() },
			journal.State{Epoch: 2, Holder: nodeA, TermSeconds: 30, ExpiresAt: at(42), ActivateBy: at(62), GrantedPosition: 3, RenewedPosition: 5, WrittenPosition: 3, LastAt: at(12)}},
		{"an activation", func() { b.after(time.Second).activates() },
			journal.State{Epoch: 2, Holder: nodeA, TermSeconds: 30, ExpiresAt: at(42), ActivateBy: at(62), Activated: true, GrantedPosition: 3, RenewedPosition: 5, WrittenPosition: 3, LastAt: at(13)}},
		{"the node's entry", func() { b.writes(nodeA, "", nil) },
			journal.State{Epoch: 2, Holder: nodeA, TermSeconds: 30, ExpiresAt: at(42), ActivateBy: at(62), Activated: true, GrantedPosition: 3, RenewedPosition: 5, WrittenPosition: 7, LastAt: at(13)}},
		{"advice", func() { b.advises() },
			journal.State{Epoch: 2, Holder: nodeA, TermSeconds: 30, ExpiresAt: at(42), ActivateBy: at(62), Activated: true, GrantedPosition: 3, RenewedPosition: 5, WrittenPosition: 7, LastAt: at(13)}},
		{"a revocation", func() { b.after(time.Minute).revokesOnly(journal.Coordinator, journal.ReasonExpiry) },
			journal.State{Epoch: 2, GrantedPosition: 9, RenewedPosition: 9, WrittenPosition: 9, LastAt: at(73)}},
		{"the grant behind it", func() { b.grants() },
			journal.State{Epoch: 3, Holder: journal.Coordinator, Activated: true, GrantedPosition: 10, RenewedPosition: 10, WrittenPosition: 10, LastAt: at(73)}},
		{"the end", func() { b.retires() },
			journal.State{Epoch: 3, Holder: journal.Coordinator, Activated: true, GrantedPosition: 10, RenewedPosition: 10, WrittenPosition: 10, LastAt: at(73), Retired: true}},
	} {
		step.do()
		step.want.Position, step.want.Hash = int64(i)+1, b.entries[i].Hash
		if diff := cmp.Diff(step.want, b.state); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", step.what, diff)
		}
	}
}

// Whatever an honest coordinator does under whatever clock, its journal verifies,
// and shows one holder at each position; and no line can be missing but the last
// ones, which a checkpoint shows.
func TestVerify_TakesEveryHonestJournalUnderAnyClock(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		b := newBook(t)
		for range rapid.IntRange(0, 40).Draw(r, "steps") {
			b.now = b.now.Add(time.Duration(rapid.Int64Range(-90e6, 60e6).Draw(r, "µs")) * time.Microsecond)
			b.term = time.Duration(rapid.Int64Range(5, 120).Draw(r, "term")) * time.Second
			b.act(r)
		}
		n := len(b.entries)
		kept := checkpoint(b, n, "new")
		got, err := verify(b.entries, kept)
		if err != nil {
			r.Fatal(err)
		}
		if diff := cmp.Diff(b.state, got); diff != "" {
			r.Fatalf("(-written +verified):\n%s", diff)
		}
		missing := rapid.IntRange(0, n-1).Draw(r, "missing")
		if _, err := verify(slices.Delete(slices.Clone(b.entries), missing, missing+1), kept); err == nil {
			r.Fatalf("position %d of %d is gone, and nobody noticed", missing+1, n)
		}
	})
}

// act does something that is allowed, and first what is due.
func (b *book) act(r *rapid.T) {
	if b.state.Ended(b.at()) {
		b.expires()
	}
	node := rapid.SampledFrom([]journal.Actor{nodeA, nodeB}).Draw(r, "node")
	acts := []func(){
		func() { b.rejects(shop, 0, 1) },
		func() { b.advises() },
		func() { b.handsTo(b.state.Holder, node) },
	}
	if b.state.Holder.IsCoordinator() {
		acts = append(acts, func() { b.writes(shop, "", []byte("x")) })
	} else {
		acts = append(acts,
			func() { b.handsTo(b.state.Holder, journal.Coordinator) },
			func() { b.revokes(admin, "why") },
			func() { b.renews() })
		if b.state.Activated {
			acts = append(acts, func() { b.writesJSON(b.state.Holder, "", `{"x":1}`) })
		} else {
			acts = append(acts, func() { b.activates() })
		}
	}
	rapid.SampledFrom(acts).Draw(r, "act")()
}

func TestTime_HasOneSpelling(t *testing.T) {
	t.Parallel()
	east := time.Date(2026, 1, 2, 3, 4, 5, 6_000, time.FixedZone("", 3600))
	text := must(journal.Time(east).MarshalText())
	if string(text) != "2026-01-02T02:04:05.000006Z" {
		t.Errorf("it is %s", text)
	}
	var back journal.Time
	if err := back.UnmarshalText(text); err != nil || !time.Time(back).Equal(east) {
		t.Errorf("it is read as %v, %v", back, err)
	}
	for _, other := range []string{"", "2026-01-02T02:04:05Z", "2026-01-02T02:04:05.00000Z", "2026-01-02T02:04:05.0000060Z", "2026-01-02T02:04:05,000006Z",
		"2026-01-02T02:04:05.000006z", "2026-01-02t02:04:05.000006Z", "2026-01-02T02:04:05.000006+00:00", "2026-02-30T02:04:05.000006Z", "2026-01-02T24:04:05.000006Z"} {
		if err := back.UnmarshalText([]byte(other)); err == nil {
			t.Errorf("%q is read as %v", other, back)
		}
	}
}

func TestHash_HasOneSpelling(t *testing.T) {
	t.Parallel()
	hash := journal.Root(tenant, world)
	text := must(hash.MarshalText())
	var back journal.Hash
	if err := back.UnmarshalText(text); err != nil || back != hash || string(text) != hash.String() {
		t.Errorf("%s is read as %s, %v", text, back, err)
	}
	for _, other := range [][]byte{nil, text[:62], append(slices.Clone(text), "00"...), bytes.ToUpper(text), append([]byte("zz"), text[2:]...)} {
		if err := back.UnmarshalText(other); err == nil {
			t.Errorf("%q is read as %s", other, back)
		}
	}
}
