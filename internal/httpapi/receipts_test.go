package httpapi

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

func TestGetReceipt_AConflictOfACompletionSaysWhatAProblemWould(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	standing := theRecord()
	a.records.stored = record.Stored{Completion: &record.Completion{OperationID: "all", BatchID: "b", At: verifiedAt, Items: []record.CompletedItem{
		{Key: "k0", Generation: 1, Outcome: record.ItemConflict, Code: "digest_mismatch", Detail: "Not so.", Section: "items", Record: &standing},
		{Key: "k1", Generation: 1, Outcome: record.ItemConflict, Code: "bodies_too_large", Detail: "Too large.", Fields: []domain.Field{{Pointer: "/sections", Code: "bodies_too_large"}}},
		{Key: "k2", Generation: 1, Outcome: record.ItemLeaseExpired},
	}}}
	w := a.do(t, request{method: "GET", target: orders("/receipts/all")})
	want := `{"completion":{"at":"2026-11-30T12:00:00Z","batch_id":"b","items":[` +
		`{"generation":1,"key":"k0","outcome":"conflict","problem":{"code":"digest_mismatch","detail":"Not so.","record":` + recordText + `,"section":"items"}},` +
		`{"generation":1,"key":"k1","outcome":"conflict","problem":{"code":"bodies_too_large","detail":"Too large.","errors":[{"code":"bodies_too_large","pointer":"/sections"}]}},` +
		`{"generation":1,"key":"k2","outcome":"lease_expired"}],"operation_id":"all"}}`
	if got := strings.TrimSpace(w.Body.String()); got != want {
		t.Errorf("%d %s\nwant %s", w.Code, got, want)
	}
}
