package identity

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// follower reads the feed from its beginning, page by page.
type follower struct {
	*directory
	at   FeedPosition
	seen map[domain.Number][]Event
}

func (d *directory) follow() *follower {
	return &follower{directory: d, seen: map[domain.Number][]Event{}}
}

// read takes one page.
func (f *follower) read(t testing.TB, limit int) FeedPage {
	t.Helper()
	page, err := f.Feed(t.Context(), f.scope, f.at, limit)
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Events) > limit {
		t.Errorf("a page of %d, want at most %d", len(page.Events), limit)
	}
	for _, e := range page.Events {
		f.seen[e.Number] = append(f.seen[e.Number], e)
	}
	f.at = page.Next
	return page
}

// catchUp reads until there is no more for now.
func (f *follower) catchUp(t testing.TB, limit int) {
	t.Helper()
	for f.read(t, limit).More {
	}
}

// expectSeen holds what was followed to what is there: each stream from its
// beginning, in its order, each event once.
func (f *follower) expectSeen(t testing.TB) {
	t.Helper()
	want := map[domain.Number][]Event{}
	for _, e := range f.eventRows(t) {
		if e.tenant == f.scope.Tenant {
			want[e.Number] = append(want[e.Number], e.Event)
		}
	}
	if diff := cmp.Diff(want, f.seen, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("the feed (-there +seen):\n%s", diff)
	}
}

// createIn makes an account in a number.
func (d *directory) createIn(t testing.TB, n domain.Number, handle string) Account {
	t.Helper()
	for i := 0; ; i++ {
		key := numbered(handle+" %d", i)
		id := domain.DeriveID[domain.AccountKind](d.scope.Settings.IDKey, "account", d.scope.Principal.String(), key)
		if accountRef(id).Number != n {
			continue
		}
		created, err := d.Create(t.Context(), d.scope, CreateAccount{Handle: handle, IdempotencyKey: key})
		if err != nil {
			t.Fatal(err)
		}
		return created.Account
	}
}

// rename is a change of one revision.
func (d *directory) rename(ctx context.Context, a Account, name string) (Account, error) {
	pointer := &name
	return d.Patch(ctx, d.scope, a.ID, a.Revision, AccountPatch{DisplayName: &pointer})
}

func (d *directory) mustRename(t testing.TB, a Account, name string) Account {
	t.Helper()
	a, err := d.rename(t.Context(), a, name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// eventsCommit is when a transaction that has written events commits.
var eventsCommit = testkit.CommitOf("INSERT INTO events")

// awaitBlocked waits until a transaction on the database waits for another's lock.
func (d *directory) awaitBlocked(t testing.TB, database string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		var blocked bool
		err := d.admin[database].QueryRow(t.Context(), `
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&blocked)
		if err != nil {
			t.Fatal(err)
		}
		if blocked {
			return
		}
	}
	t.Fatal("no transaction waits")
}

// A transaction that has its sequence and is not committed holds up its own
// number and no other: readers see the others', and nothing behind it.
func TestFeed_WhileATransactionIsHeldOpen_SeesTheOthersAndMissesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	const held, near, far domain.Number = 3, 4, 60 // the first two on one database
	first, second := d.createIn(t, held, "first"), d.createIn(t, held, "second")
	neighbour, stranger := d.createIn(t, near, "neighbour"), d.createIn(t, far, "stranger")
	f := d.follow()
	f.catchUp(t, MaxEvents)
	f.expectSeen(t)

	r := d.remote(t, Options{})
	trap := r.network.HoldBefore(t, eventsCommit)
	done := make(chan error, 2)
	change := func(a Account) {
		_, err := r.rename(context.Background(), a, "late")
		done <- err
	}
	go change(first)
	<-trap.Met()
	neighbour, stranger = d.mustRename(t, neighbour, "early"), d.mustRename(t, stranger, "early")
	if page := f.read(t, MaxEvents); len(page.Events) != 2 || page.More {
		t.Errorf("beside a held transaction the page is %+v, want the two that committed", page)
	}
	go change(second)
	d.awaitBlocked(t, d.router.Database(held).Name)
	d.mustRename(t, neighbour, "later")
	d.mustRename(t, stranger, "later")
	if page := f.read(t, MaxEvents); len(page.Events) != 2 || page.Next[held] != 2 {
		t.Errorf("beside two that wait the page is %+v, want the two that committed", page)
	}
	trap.Release()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	f.catchUp(t, MaxEvents)
	f.expectSeen(t)
	var order []string
	for _, e := range f.seen[held][2:] {
		order = append(order, map[domain.RecordID]string{domain.RecordID(first.ID): "first", domain.RecordID(second.ID): "second"}[e.Record])
	}
	if diff := cmp.Diff([]string{"first", "second"}, order); diff != "" {
		t.Errorf("the order of commits (-want +got):\n%s", diff)
	}
	d.checkInvariants(t, true)
}

// What a lost transaction had counted is counted again: the stream has no hole.
func TestFeed_AfterATransactionWasLost_HasNoHole(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	a := d.create(t, "ada", "")
	r := d.remote(t, Options{})
	r.network.CutBefore(t, eventsCommit)
	if _, err := r.rename(t.Context(), a, "lost"); domain.KindOf(err) != domain.KindOutcomeUnknown {
		t.Fatalf("got %v, want an unknown outcome", err)
	}
	f := d.follow()
	f.catchUp(t, MaxEvents)
	d.mustRename(t, a, "kept")
	f.catchUp(t, MaxEvents)
	f.expectSeen(t)
	d.checkInvariants(t, true)
}

func TestFeed_ABusyNumberHoldsUpNobody(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	busy := d.createIn(t, 7, "busy")
	for i := range 40 {
		busy = d.mustRename(t, busy, numbered("name %d", i))
	}
	for n := range domain.Number(5) {
		d.createIn(t, 20+n, numbered("quiet-%d", int(n)))
	}
	f := d.follow()
	page := f.read(t, 12)
	if len(page.Events) != 12 || !page.More {
		t.Errorf("a page of %d events, more %v; want a full one", len(page.Events), page.More)
	}
	for n := range domain.Number(5) {
		if len(f.seen[20+n]) != 1 {
			t.Errorf("number %d has not been served", 20+n)
		}
	}
	f.catchUp(t, 12)
	f.expectSeen(t)
	if page := f.read(t, 12); len(page.Events) > 0 || page.More || page.Next != f.at {
		t.Errorf("at the end the page is %+v, want an empty one that stays there", page)
	}
}

// What cleanup has removed is passed over, and a follower that is further behind
// goes on at what is left.
func TestFeed_BehindItsRetention_GoesOnAtWhatIsLeft(t *testing.T) {
	t.Parallel()
	all := newDirectory(t, Options{})
	for _, limit := range []int{1, 3, MaxEvents} {
		d := all.with(Options{})
		d.scope = all.newTenant(t, "ascii")
		a, b := d.createIn(t, 7, "a"), d.createIn(t, 50, "b")
		for i := range 9 {
			a, b = d.mustRename(t, a, numbered("%d", i)), d.mustRename(t, b, numbered("%d", i))
		}
		d.everywhere(t, `DELETE FROM events WHERE number = 50 OR sequence <= 6`)
		f := d.follow()
		f.catchUp(t, limit)
		f.expectSeen(t)
		if f.at[7] != 10 || f.at[50] != 10 {
			t.Errorf("in pages of %d the follower stops at %d and %d, want 10 and 10", limit, f.at[7], f.at[50])
		}
		d.mustRename(t, b, "later")
		f.catchUp(t, limit)
		f.expectSeen(t)
	}
}

func TestFeed_APositionAheadOfTheStreams_IsRefused(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.create(t, "ada", "")
	f := d.follow()
	f.catchUp(t, MaxEvents)
	d.everywhere(t, `DELETE FROM events`) // as a restored backup has neither
	d.everywhere(t, `DELETE FROM event_counters`)
	_, err := d.Feed(t.Context(), d.scope, f.at, MaxEvents)
	expectCode(t, err, domain.KindInvalid, "cursor_ahead")
}

func TestFeed_IsItsTenantsOwn(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	d.create(t, "ada", "")
	other := d.with(Options{})
	other.scope = d.newTenant(t, "ascii")
	f := other.follow()
	if page := f.read(t, MaxEvents); len(page.Events) > 0 || page.More || page.Next != (FeedPosition{}) {
		t.Errorf("another tenant's feed is %+v, want nothing", page)
	}
	other.create(t, "ada", "")
	f.catchUp(t, MaxEvents)
	f.expectSeen(t)
}
