package record

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// networked is a keeper that reaches its databases and its bucket over networks of
// its own.
type networked struct {
	*keeper
	network *testkit.Proxied
}

func (k *keeper) networked(t *testing.T) networked {
	t.Helper()
	r := networked{keeper: &keeper{}, network: k.in.Through(t)}
	*r.keeper = *k
	r.router = r.network.Router(t, postgres.RoleAPI)
	r.faults = testkit.NewStoreFaults(t)
	r.Service = r.serve(t, r.router, Options{})
	return r
}

// proxyOf is in front of the database that a collection is on.
func (r networked) proxyOf(collection string) *testkit.Proxy {
	return r.network.Proxy(r.router.Database(numberOf(collection)).Name)
}

// commits is when a publication commits.
var commits = testkit.CommitOf("INSERT INTO receipts")

func creation(operation string) Publication {
	return Publication{
		Key: "a", OperationID: operation, Expect: Expectation{Absent: true},
		Bodies: map[string][]byte{"items": chunkyBody, "plans": []byte("plans")},
	}
}

// The connection is lost in a commit, before the database hears of it or behind it:
// nobody knows what became of it, and that is what is said. The same operation id
// finds out.
func TestFault_ACommitWhoseAnswerIsLost_IsUnknownUntilAskedAgain(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		r := k.networked(t)
		for name, lost := range map[string]struct {
			cut  func(testing.TB, testkit.Moment) *testkit.Trap
			made bool
		}{
			"before": {r.network.CutBefore, false},
			"behind": {r.network.CutAfter, true},
		} {
			c := k.collection(t, "lost-"+name)
			nothing := k.stateOf(t, c)
			lost.cut(t, commits)
			_, err := r.Publish(t.Context(), k.scope, c, nil, creation("op"))
			expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
			k.awaitSilence(t)
			if left := k.stateOf(t, c); left.equal(nothing) == lost.made {
				t.Errorf("cut %s the commit, there is\n%s", name, left.differs(nothing))
			}
			receipt, err := r.Publish(t.Context(), k.scope, c, nil, creation("op"))
			if err != nil || receipt.Replayed != lost.made || receipt.Revision != 1 {
				t.Errorf("cut %s the commit, and asked again: %+v, %v", name, receipt, err)
			}
			k.expectSound(t, c)
		}
	})
}

// Publications that share a transaction share its unknown outcome, and each finds
// out for itself.
func TestFault_PublicationsThatShareALostCommit_AreAllUnknown(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		r := k.networked(t)
		c := k.collection(t, "shared")
		held := r.network.HoldBefore(t, testkit.CommitOf("INSERT INTO receipts"))
		first := make(chan error, 1)
		go func() {
			_, err := r.Publish(t.Context(), k.scope, c, nil, Publication{
				Key: "first", OperationID: "first", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("first")},
			})
			first <- err
		}()
		<-held.Met()
		r.network.CutAfter(t, commits)
		held.Release()
		all := make([]Publication, 20)
		asked := func() []Publication {
			for i := range all {
				key := string(rune('a' + i))
				all[i] = Publication{Key: key, OperationID: "op-" + key, Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte(key)}}
			}
			return all
		}
		made, err := r.PublishEach(t.Context(), k.scope, c, nil, asked())
		if err != nil {
			t.Fatal(err)
		}
		unknown := map[string]bool{}
		for i, m := range made {
			if m.Err != nil {
				expectCode(t, m.Err, domain.KindOutcomeUnknown, "outcome_unknown")
				unknown[all[i].OperationID] = true
			}
		}
		if err := <-first; err != nil {
			t.Errorf("the one before: %v", err)
		}
		again, err := r.PublishEach(t.Context(), k.scope, c, nil, asked())
		if err != nil || len(unknown) == 0 {
			t.Fatalf("%d were unknown; asked again: %v", len(unknown), err)
		}
		for i, m := range again {
			if m.Err != nil || !m.Receipt.Replayed {
				t.Errorf("%s was unknown: %v, and was made: asked again, it is %+v", all[i].OperationID, unknown[all[i].OperationID], m)
			}
		}
		k.expectSound(t, c)
	})
}

// The database ends the backends while one has locks, and one is about to commit.
func TestFault_BackendsThatEndInTheMiddle_LeaveNothing(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		r := k.networked(t)
		for name, at := range map[string]testkit.Moment{
			"locked": testkit.Statement("INSERT INTO records"),
			"commit": commits,
		} {
			c := k.collection(t, "ended-"+name)
			nothing := k.stateOf(t, c)
			trap := r.network.HoldBefore(t, at)
			answer := make(chan error, 1)
			go func() {
				_, err := r.Publish(t.Context(), k.scope, c, nil, creation("op"))
				answer <- err
			}()
			<-trap.Met()
			k.endBackends(t, c)
			trap.Release()
			err := <-answer
			if kind := domain.KindOf(err); kind != domain.KindOutcomeUnknown && kind != domain.KindUnavailable {
				t.Errorf("%s: it was told %v", name, err)
			}
			k.awaitSilence(t)
			if left := k.stateOf(t, c); !left.equal(nothing) {
				t.Errorf("%s: it leaves\n%s", name, left.differs(nothing))
			}
			var receipt Receipt
			for range 8 { // connections that have ended are found to be so, one after the other
				if receipt, err = k.Publish(t.Context(), k.scope, c, nil, creation("op")); err == nil {
					break
				}
				expectCode(t, err, domain.KindUnavailable, "database_unavailable")
			}
			if err != nil || receipt.Replayed {
				t.Errorf("%s: asked again, it is %+v, %v", name, receipt, err)
			}
			k.expectSound(t, c)
		}
	})
}

// endBackends ends the API's backends on a collection's database.
func (k *keeper) endBackends(t testing.TB, collection string) {
	t.Helper()
	if _, err := k.adminOf(collection).Exec(t.Context(), `
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'holdfast_api'`); err != nil {
		t.Fatal(err)
	}
}

// While a database is down, the collections on the others go on, and those on it
// are unavailable, and never missing.
func TestFault_ADatabaseDown_TakesItsOwnCollectionsOnly(t *testing.T) {
	t.Parallel()
	inBothFormats(t, func(t *testing.T, k *keeper) {
		r := k.networked(t)
		here := k.collection(t, "here")
		there := "there"
		for i := 0; r.proxyOf(there) == r.proxyOf(here); i++ {
			there = "there-" + string(rune('a'+i))
		}
		k.collection(t, there)
		for _, c := range []string{here, there} {
			r.publish(t, c, creation("op"))
		}
		r.proxyOf(there).Refuse()
		r.proxyOf(there).CutAll()
		for range 3 {
			r.expectDown(t, there)
			if got := r.body(t, here, "a", "plans"); got != "plans" {
				t.Errorf("beside it, a body is %q", got)
			}
			r.publish(t, here, Publication{Key: "b", Expect: Expectation{Fence: &Fence{"b", k.names.Add(1)}}, Bodies: map[string][]byte{"items": []byte("b")}})
		}
		r.proxyOf(there).Accept()
		if got := r.body(t, there, "a", "plans"); got != "plans" {
			t.Errorf("once it is up, a body is %q", got)
		}
		r.publish(t, there, Publication{Key: "b", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("b")}})
		k.expectSound(t, here)
		k.expectSound(t, there)
	})
}

func (r networked) expectDown(t *testing.T, c string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := r.Record(ctx, r.scope, c, "a")
	expectCode(t, err, domain.KindUnavailable, "database_unavailable")
	_, err = r.Body(ctx, r.scope, c, "a", "plans")
	expectCode(t, err, domain.KindUnavailable, "database_unavailable")
	_, err = r.Export(ctx, r.scope, c, ExportRequest{})
	expectCode(t, err, domain.KindUnavailable, "database_unavailable")
	_, err = r.Publish(ctx, r.scope, c, nil, creation("another"))
	expectCode(t, err, domain.KindUnavailable, "database_unavailable")
}

// While the object store is down, publications that need it are refused and leave
// nothing, bodies in it are unavailable, and all else goes on.
func TestFault_AnObjectStoreDown_StopsOnlyWhatNeedsIt(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	inSQL := k.collection(t, "in-sql")
	k.begin(t, FormatStore)
	inStore := k.collection(t, "in-store")
	r := k.networked(t)
	for _, c := range []string{inSQL, inStore} {
		r.publish(t, c, creation("op"))
	}
	before := k.stateOf(t, inStore)
	r.faults.AtRandom(0, 1, testkit.LostRequest(), testkit.Refuse(http.StatusServiceUnavailable, "SlowDown", 0), testkit.Refuse(http.StatusInternalServerError, "InternalError", 0))

	_, err := r.Publish(t.Context(), k.scope, inStore, nil, Publication{Key: "b", OperationID: "op-b", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("b")}})
	expectCode(t, err, domain.KindUnavailable, "object_store_unavailable")
	_, err = r.Body(t.Context(), k.scope, inStore, "a", "plans")
	expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	_, err = r.RecordWithBodies(t.Context(), k.scope, inStore, "a")
	expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	_, err = r.Export(t.Context(), k.scope, inStore, ExportRequest{Bodies: true})
	expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	if left := k.stateOf(t, inStore); !left.equal(before) {
		t.Errorf("what was refused left\n%s", left.differs(before))
	}
	page, err := r.Export(t.Context(), k.scope, inStore, ExportRequest{Bodies: true, Mark: true})
	if err != nil || len(page.Records) != 2 || !page.Records[0].Unavailable {
		t.Errorf("with bodies marked, the export is %+v, %v", page, err)
	} else {
		page.Close()
	}
	if stat, err := r.Stat(t.Context(), k.scope, inStore, "a", "plans"); err != nil || stat.Digest != DigestOf([]byte("plans")) {
		t.Errorf("what is known of a body: %+v, %v", stat, err)
	}
	if got := r.body(t, inSQL, "a", "items"); got != string(chunkyBody) {
		t.Errorf("a body in SQL came back as %d bytes", len(got))
	}
	r.publish(t, inSQL, Publication{Key: "b", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("b")}})
	if _, err := r.Delete(t.Context(), k.scope, inStore, nil, "a", 1, "gone"); err != nil {
		t.Errorf("a deletion needs no store: %v", err)
	}

	r.faults.AtRandom(0, 0)
	r.publish(t, inStore, Publication{Key: "b", OperationID: "op-b", Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": []byte("b")}})
	k.expectSound(t, inStore)
	k.expectSound(t, inSQL)
}
