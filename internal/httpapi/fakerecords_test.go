package httpapi

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// fakeRecords answers with one record, or with err, or does what act says.
type fakeRecords struct {
	err    error
	act    func(context.Context) error
	got    any // what the last call was asked
	called []string

	record   record.Record // with its bodies
	noBodies error         // why bodies can't be had
	reading  func()        // is called when they are asked for
	receipt  record.Receipt
	made     []record.Made
	stored   record.Stored
	list     record.RecordPage
	page     record.ExportPage
	progress []record.SweepProgress
}

func (f *fakeRecords) call(ctx context.Context, name string, got any) error {
	if f.act != nil {
		return f.act(ctx)
	}
	f.called, f.got = append(f.called, name), got
	return f.err
}

// theRecord has a live section with a body, a live one with none, and a tombstone.
func theRecord() record.Record {
	section := func(name, body string, sequence int64) record.Section {
		return record.Section{
			Name: name, Live: true, Digest: record.DigestOf([]byte(body)), Length: int64(len(body)),
			Producer: "tester", Sequence: sequence, UpdatedAt: verifiedAt, Body: []byte(body),
		}
	}
	closed := record.Section{Name: "closed", Producer: "tester", Sequence: 3, UpdatedAt: verifiedAt}
	return record.Record{
		Collection: "orders", Key: `a/1 "sections":{}`, Revision: 7, Live: true, CreatedAt: verifiedAt, UpdatedAt: verifiedAt,
		Sections: []record.Section{closed, section("items", "hello", 1), section("plans", "", 2)},
	}
}

func (f *fakeRecords) CreateCollection(ctx context.Context, _ tenancy.Scope, want record.NewCollection) (record.Collection, bool, error) {
	return f.collection(want.Name), want.BindWorld, f.call(ctx, "create collection", want)
}

func (f *fakeRecords) collection(name string) record.Collection {
	return record.Collection{Name: name, Format: record.FormatSQL, Profile: record.DefaultProfile(), Sequence: 3, CreatedAt: verifiedAt}
}

func (f *fakeRecords) Collection(ctx context.Context, _ tenancy.Scope, name string) (record.Collection, error) {
	return f.collection(name), f.call(ctx, "collection", name)
}

func (f *fakeRecords) Collections(ctx context.Context, _ tenancy.Scope, after string, limit int) (record.CollectionPage, error) {
	return record.CollectionPage{Collections: []record.Collection{f.collection("orders")}, More: after == ""}, f.call(ctx, "collections", askedPage{after, limit})
}

func (f *fakeRecords) Publish(ctx context.Context, _ tenancy.Scope, _ string, _ *lease.Authority, p record.Publication) (record.Receipt, error) {
	return f.receipt, f.call(ctx, "publish", p)
}

func (f *fakeRecords) PublishEach(ctx context.Context, _ tenancy.Scope, _ string, _ *lease.Authority, all []record.Publication) ([]record.Made, error) {
	return f.made, f.call(ctx, "publish each", all)
}

type askedDeletion struct {
	Key       string
	Revision  int64
	Operation string
}

func (f *fakeRecords) Delete(ctx context.Context, _ tenancy.Scope, _ string, _ *lease.Authority, key string, revision int64, operationID string) (record.Receipt, error) {
	return f.receipt, f.call(ctx, "delete", askedDeletion{key, revision, operationID})
}

func (f *fakeRecords) StoredReceipt(ctx context.Context, _ tenancy.Scope, _, operationID string) (record.Stored, error) {
	return f.stored, f.call(ctx, "receipt", operationID)
}

func (f *fakeRecords) Record(ctx context.Context, _ tenancy.Scope, _, key string) (record.Record, error) {
	return f.record, f.call(ctx, "record", key)
}

func (f *fakeRecords) RecordWithBodies(context.Context, tenancy.Scope, string, string) (*record.Bodies, error) {
	f.called = append(f.called, "record with bodies")
	if f.reading != nil {
		f.reading()
	}
	return &record.Bodies{Record: f.record}, f.noBodies
}

type askedRecords struct {
	Filter record.Filter
	Page   askedPage
}

func (f *fakeRecords) Records(ctx context.Context, _ tenancy.Scope, _ string, filter record.Filter, after string, limit int) (record.RecordPage, error) {
	return f.list, f.call(ctx, "records", askedRecords{filter, askedPage{after, limit}})
}

func (f *fakeRecords) Stat(ctx context.Context, _ tenancy.Scope, _, _, section string) (record.Stat, error) {
	found, _ := f.record.Section(section)
	return record.Stat{Section: *found, Revision: f.record.Revision}, f.call(ctx, "stat", section)
}

func (f *fakeRecords) Body(ctx context.Context, _ tenancy.Scope, _, _, section string) (*record.Body, error) {
	found, _ := f.record.Section(section)
	return &record.Body{Stat: record.Stat{Section: *found, Revision: f.record.Revision}}, f.call(ctx, "body", section)
}

func (f *fakeRecords) Presign(ctx context.Context, _ tenancy.Scope, _, _, section string) (record.Presigned, error) {
	return record.Presigned{}, f.call(ctx, "presign", section)
}

func (f *fakeRecords) Export(ctx context.Context, _ tenancy.Scope, _ string, req record.ExportRequest) (*record.ExportPage, error) {
	return &f.page, f.call(ctx, "export", req)
}

func (f *fakeRecords) Claim(ctx context.Context, _ tenancy.Scope, _ string, _ *lease.Authority, req record.ClaimBatch) (record.Batch, error) {
	return record.Batch{ID: req.ID, Owner: req.Owner, CreatedAt: verifiedAt}, f.call(ctx, "claim", req)
}

type askedHeartbeat struct {
	ID    string
	Items []record.ClaimedItem
	Term  time.Duration
}

func (f *fakeRecords) Heartbeat(ctx context.Context, _ tenancy.Scope, _ string, _ *lease.Authority, id string, items []record.ClaimedItem, term time.Duration) ([]record.BatchItem, error) {
	return nil, f.call(ctx, "heartbeat", askedHeartbeat{id, items, term})
}

func (f *fakeRecords) Complete(ctx context.Context, _ tenancy.Scope, _ string, _ *lease.Authority, _ string, req record.CompleteBatch) (record.Completion, error) {
	return record.Completion{}, f.call(ctx, "complete", req)
}

func (f *fakeRecords) Batch(ctx context.Context, _ tenancy.Scope, _, id string) (record.Batch, error) {
	return record.Batch{ID: id}, f.call(ctx, "batch", id)
}

// fakeMemory has room for all, or for none, and remembers.
type fakeMemory struct {
	mu    sync.Mutex
	full  bool
	taken []int64
	by    domain.TenantID // the last
	inUse int64
}

func (m *fakeMemory) Take(_ context.Context, tenant domain.TenantID, bytes int64) (func(), error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return nil, domain.Unavailable("overloaded", "Too many.").After(time.Second)
	}
	m.taken, m.by, m.inUse = append(m.taken, bytes), tenant, m.inUse+bytes
	return sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.inUse -= bytes
	}), nil
}

// orders is a path below the collection that tests ask about.
func orders(path string) string { return "/v1/collections/orders" + path }

// inParts is a body in parts; each is its header lines, an empty line, and its
// content.
func inParts(parts ...string) string {
	return "--x\r\n" + strings.Join(parts, "\r\n--x\r\n") + "\r\n--x--\r\n"
}

func part(name, content string) string {
	return `Content-Disposition: form-data; name="` + name + "\"\r\n\r\n" + content
}
