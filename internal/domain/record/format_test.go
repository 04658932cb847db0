package record

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// R13: a writer that was prepared for SQL comes to its locks when the collection
// has gone over to the store. The locked row is what counts: it prepares again.
func TestAWriterPreparedForSQL_WritesWhereTheLockedRowSays(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	for name, write := range map[string]func(w *keeper, c string) (Receipt, error){
		"publication": func(w *keeper, c string) (Receipt, error) {
			p := items("a", "the body")
			p.OperationID = "once"
			return w.Publish(t.Context(), k.scope, c, nil, p)
		},
		"completion": func(w *keeper, c string) (Receipt, error) {
			generations := k.claimItems(t, c, "batch", "a", "b", "stands")
			p := items("a", "the body")
			p.OperationID, p.Claim = "once", &Claim{Generation: generations["a"]}
			// Neither this item's refusal nor that it isn't prepared may hold up the others,
			// and what needs no store isn't done before them.
			refused := Publication{Key: "b", OperationID: "b", Bodies: map[string][]byte{"plans": {}}, Expect: Expectation{Absent: true}, Claim: &Claim{Generation: generations["b"]}}
			gone := Publication{Key: "stands", OperationID: "gone", Tombstones: []string{"items"}, Expect: Expectation{Revision: 1}, Claim: &Claim{Generation: generations["stands"]}}
			done, err := w.Complete(t.Context(), k.scope, c, nil, "batch", CompleteBatch{OperationID: "all", Items: []Publication{gone, p, refused}})
			if err != nil {
				return Receipt{}, err
			}
			if done.Items[0].Outcome != ItemPublished || done.Items[1].Outcome != ItemPublished || done.Items[2].Code != "primary_missing" {
				t.Errorf("completed as %+v", done.Items)
			}
			if at := done.At; done.Items[0].Receipt.At != at || done.Items[1].Receipt.At != at {
				t.Errorf("completed piece by piece: %+v", done)
			}
			return *done.Items[1].Receipt, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := k.collection(t, name)
			k.publish(t, c, items("stands", "stands"))
			writer := k.networked(t)
			trap := writer.network.HoldBefore(t, lockCollections)
			type made struct {
				Receipt
				err error
			}
			answer := make(chan made)
			go func() {
				receipt, err := write(writer.keeper, c)
				answer <- made{receipt, err}
			}()
			<-trap.Met()
			if n := writer.faults.Count("PUT"); n != 0 {
				t.Errorf("%d uploads for SQL", n)
			}
			k.setFormat(t, c, FormatStore)
			trap.Release()
			if m := <-answer; m.err != nil || m.Revision != 1 || m.Replayed {
				t.Errorf("%+v, %v", m.Receipt, m.err)
			}
			if n := writer.faults.Count("PUT"); n != 1 {
				t.Errorf("%d uploads for the store", n)
			}
			if got := k.body(t, c, "a", "items"); got != "the body" {
				t.Errorf("published %q", got)
			}
			k.expectSound(t, c)
		})
	}
}

// The other way about: the writer has the lock, and who changes the format waits for
// it. What is committed is of the format that the locked row had.
func TestAFormatThatChangesWhileAPublicationHasItsLock_GoesBehindIt(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	writer := k.networked(t)
	trap := writer.network.HoldBefore(t, commitMove)
	made, changed := make(chan error), make(chan error)
	go func() {
		p := items("a", "the body")
		p.OperationID = "once"
		_, err := writer.Publish(t.Context(), k.scope, c, nil, p)
		made <- err
	}()
	<-trap.Met()
	go func() {
		_, err := k.adminOf(c).Exec(t.Context(), `UPDATE collections SET record_format = 2, sealed = false WHERE tenant_id = $1`, k.scope.Tenant)
		changed <- err
	}()
	k.awaitLocked(t, c)
	trap.Release()
	for name, ended := range map[string]chan error{"the publication": made, "the change": changed} {
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := writer.faults.Count("PUT"); n != 0 {
		t.Errorf("%d uploads for SQL", n)
	}
	k.expectRows(t, c, "sequence 1, records 1, sections_in_sql 1, section_chunks 0, sections_in_store 0, export_entries 1, receipts 1, fences 0")
	if got := k.body(t, c, "a", "items"); got != "the body" {
		t.Errorf("published %q", got)
	}
	if of, err := k.Collection(t.Context(), k.scope, c); err != nil || of.Format != FormatStore {
		t.Errorf("%+v, %v", of, err)
	}
	k.expectSound(t, c)
}

// awaitLocked waits until somebody on a collection's database waits for a lock.
func (k *keeper) awaitLocked(t *testing.T, collection string) {
	t.Helper()
	for waits := false; !waits; {
		err := k.adminOf(collection).QueryRow(t.Context(), `
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'UPDATE collections SET%')`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (k *keeper) expectRows(t *testing.T, c, want string) {
	t.Helper()
	if got := k.rows(t, c); got != want {
		t.Errorf("there are %s\nwant      %s", got, want)
	}
}

// A collection that has gone over still has sections in SQL. Those that a
// publication changes, named or implied, go to the store with it, and what they had
// in SQL goes in the same transaction. The others stay readable where they are.
func TestPublish_MovesWhatItChanges_OutOfSQL(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	large := string(bytes.Repeat([]byte("chunked "), 150<<10)) // three chunks
	k.publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"items": []byte(large), "plans": []byte("p"), "decision-packets": []byte("d")}, Expect: Expectation{Absent: true}})
	k.publish(t, c, items("b", large))
	k.setFormat(t, c, FormatStore)
	k.expectRows(t, c, "sequence 4, records 2, sections_in_sql 4, section_chunks 6, sections_in_store 0, export_entries 4, receipts 2, fences 0")

	k.publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"plans": []byte("P")}, Expect: Expectation{Revision: 1}})
	k.expectRows(t, c, "sequence 5, records 2, sections_in_sql 3, section_chunks 6, sections_in_store 1, export_entries 4, receipts 3, fences 0")
	for section, want := range map[string]string{"items": large, "plans": "P", "decision-packets": "d"} {
		if got := k.body(t, c, "a", section); got != want {
			t.Errorf("%s has %d bytes, not %d", section, len(got), len(want))
		}
	}
	// The tombstones that follow from it go over too, and no body with them.
	k.publish(t, c, Publication{Key: "a", Bodies: map[string][]byte{"closed": []byte("C")}, Expect: Expectation{Revision: 2}})
	k.expectRows(t, c, "sequence 8, records 2, sections_in_sql 2, section_chunks 3, sections_in_store 3, export_entries 5, receipts 4, fences 0")
	if _, err := k.Delete(t.Context(), k.scope, c, nil, "a", 3, ""); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"4 b at 1: " + shownSection("items", true, large),
		"7 a at 4: items gone", "8 a at 4: plans gone", "9 a at 4: closed gone", "10 a at 4: decision-packets gone",
	}
	if diff := cmp.Diff(want, k.export(t, c, "", 2)); diff != "" {
		t.Errorf("export (-want +got)\n%s", diff)
	}
	k.expectRows(t, c, "sequence 10, records 2, sections_in_sql 1, section_chunks 3, sections_in_store 4, export_entries 5, receipts 4, fences 0")
	k.expectSound(t, c)
}

// Where there is no store, a collection in SQL is served, and one in the store says
// that it can't be.
func TestWithoutAStore_CollectionsInSQLGoOn(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	k.publish(t, c, items("a", "in SQL"))
	bare := *k
	bare.Service = New(k.router, k.leases, nil, Options{})
	bare.publish(t, c, items("b", "in SQL"))
	if got := bare.body(t, c, "a", "items"); got != "in SQL" {
		t.Errorf("%q", got)
	}
	k.setFormat(t, c, FormatStore)
	k.publish(t, c, items("c", "in the store"))
	before := k.stateOf(t, c)
	p := items("d", "x")
	p.OperationID = k.operation()
	_, err := bare.Publish(t.Context(), k.scope, c, nil, p)
	expectCode(t, err, domain.KindUnavailable, "object_store_unavailable")
	_, err = bare.Body(t.Context(), k.scope, c, "c", "items")
	expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	_, err = bare.Presign(t.Context(), k.scope, c, "c", "items")
	expectCode(t, err, domain.KindUnavailable, "body_unavailable")
	if got := bare.body(t, c, "a", "items"); got != "in SQL" {
		t.Errorf("%q", got)
	}
	if behind := k.stateOf(t, c); !behind.equal(before) {
		t.Error(behind.differs(before))
	}
}
