package main

import (
	"fmt"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// validOnRecords gives a request to an operation on collections, records or batches
// what it needs to succeed. It tells whether it knows the operation.
func (s *subject) validOnRecords(t testing.TB, x *exchange, n int64, body func(string)) bool {
	t.Helper()
	x.path["collection"], x.path["key"], x.path["section"] = s.collection, s.key, "items"
	switch x.op.operation.OperationID {
	case "listCollections":
		x.query = "limit=2"
	case "putCollection":
		x.path["collection"] = fmt.Sprint("created-", n)
		body(`{"profile":{"primaries":["text","data"],"companions":{"notes":["text"]}},"bind_world":false}`)
	case "getCollection", "presignBody":
	case "getBody":
		x.header.Set("Range", "bytes=1-2")
		x.header.Set("If-Range", `"`+helloDigest+`"`)
	case "listRecords":
		x.query = "live=true&limit=2"
	case "getRecord":
		x.query = "include=bodies"
	case "putRecord":
		x.path["key"] = fmt.Sprint("put/", n)
		x.query = "include=bodies"
		body(`{"operation_id":"put-$n","producer":"test","sections":{"items":{"body":"aGVsbG8="}},"tombstones":["plans"],` +
			`"expect":{"items":null},"batch":{"batch_id":"` + s.claimed(t, fmt.Sprint("put-batch-", n), x.path["key"]) + `","generation":` + s.generation(t, fmt.Sprint("put-batch-", n)) + `}}`)
	case "deleteRecord":
		x.path["key"] = fmt.Sprint("short-lived-", n)
		s.newRecord(t, x.path["key"], fmt.Sprint("create-", n))
		x.header.Set("If-Match", `"1"`)
		x.header.Set("Idempotency-Key", fmt.Sprint("delete-", n))
	case "publishRecords":
		body(`{"items":[{"key":"published-$n","operation_id":"publish-$n","producer":"test","sections":{"items":{"body":""}},"tombstones":[],"if_absent":true},` +
			`{"key":"fenced-$n","operation_id":"fence-$n","sections":{"closed":{"body":"AAE="}},"fence":{"key":"fence-$n","revision":7}}]}`)
	case "getReceipt":
		x.path["operation_id"] = theReceipt
	case "exportRecords":
		x.query = "section=items&after=0&limit=2&include=bodies&unavailable=mark"
	case "requestSnapshot":
		x.header.Set("Idempotency-Key", theSnapshot)
	case "listSnapshots":
	case "getSnapshot":
		x.path["snapshot_id"] = s.snapshot(t)
		x.query = "limit=2"
	case "claimBatch":
		body(`{"batch_id":"batch-$n","owner":"worker","items":["a-$n","b-$n"],"term_seconds":60}`)
	case "getBatch":
		x.path["batch_id"] = s.claimed(t, fmt.Sprint("batch-", n), fmt.Sprint("item-", n))
	case "heartbeatBatch":
		x.path["batch_id"] = s.claimed(t, fmt.Sprint("batch-", n), fmt.Sprint("item-", n))
		body(`{"items":[{"key":"item-$n","generation":` + s.generation(t, x.path["batch_id"]) + `}],"term_seconds":60}`)
	case "completeBatch":
		x.path["batch_id"] = s.claimed(t, fmt.Sprint("batch-", n), fmt.Sprint("item-", n))
		body(`{"operation_id":"complete-$n","items":[{"key":"item-$n","generation":` + s.generation(t, x.path["batch_id"]) +
			`,"operation_id":"complete-item-$n","sections":{"items":{"body":"aGVsbG8="}},"if_absent":true}]}`)
	default:
		return false
	}
	return true
}

// The subject's record.
const (
	theKey     = "2026/4711 ?#%é+"
	theReceipt = "create /%" // its publication

	theSnapshot = "the-snapshot" // the Idempotency-Key of the collection's only one, which nobody makes
)

// helloDigest is that of "hello".
const helloDigest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

// newCollection makes a collection of the owner's that keeps its bodies in the object
// store.
func (s *subject) newCollection(t testing.TB, name string) string {
	t.Helper()
	if _, err := s.operator(t, s.api).SetStorageWithResponse(t.Context(), s.owner.id, holdfast.SetStorage{RecordFormat: 2}); err != nil {
		t.Fatal(err)
	}
	made, err := connect(t, s.api, s.owner.key).PutCollectionWithResponse(t.Context(), name, holdfast.NewCollection{})
	if err != nil {
		t.Fatal(err)
	}
	return made.JSON201.Collection
}

// newRecord publishes "hello" as a record's items.
func (s *subject) newRecord(t testing.TB, key, operation string) string {
	t.Helper()
	_, err := connect(t, s.api, s.owner.key).PutRecordWithResponse(t.Context(), s.collection, key, &holdfast.PutRecordParams{IfNoneMatch: ptr("*")},
		holdfast.Publication{OperationID: operation, Sections: &holdfast.Sections{"items": {Body: []byte("hello")}}})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// snapshot is the id of the collection's snapshot.
func (s *subject) snapshot(t testing.TB) string {
	t.Helper()
	requested, err := connect(t, s.api, s.owner.key).RequestSnapshotWithResponse(t.Context(), s.collection, &holdfast.RequestSnapshotParams{IdempotencyKey: ptr(theSnapshot)})
	if err != nil {
		t.Fatal(err)
	}
	return requested.JSON202.SnapshotID
}

// claimed claims an item for a batch, and gives the batch's id.
func (s *subject) claimed(t testing.TB, batch, item string) string {
	t.Helper()
	_, err := connect(t, s.api, s.owner.key).ClaimBatchWithResponse(t.Context(), s.collection, nil,
		holdfast.NewBatch{BatchID: batch, Owner: "worker", Items: []string{item}, TermSeconds: ptr(int64(3600))})
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// generation is that of the claim of a batch's only item.
func (s *subject) generation(t testing.TB, batch string) string {
	t.Helper()
	found, err := connect(t, s.api, s.owner.key).GetBatchWithResponse(t.Context(), s.collection, batch)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(*found.JSON200.Items[0].Generation)
}
