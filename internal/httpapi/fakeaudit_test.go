package httpapi

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// fakeAudit keeps what is written, and refuses to when it is told so.
type fakeAudit struct {
	err  error // of whatever is written
	room int   // how many entries there is room for; 0 for any
	full error // for acts of tenants

	mu      sync.Mutex
	entries []audit.Entry
}

func (f *fakeAudit) Append(_ context.Context, e audit.Entry) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return 0, f.err
	}
	if f.room > 0 && len(f.entries) == f.room {
		return 0, errors.New("the log is full")
	}
	f.entries = append(f.entries, e)
	return int64(len(f.entries)), nil
}

func (f *fakeAudit) Admit(tenant domain.TenantID) error {
	if tenant == tenancy.Operators {
		return nil
	}
	return f.full
}

func (f *fakeAudit) Note(ctx context.Context, e audit.Entry) error {
	_, err := f.Append(ctx, e)
	return err
}

func (f *fakeAudit) Entries(context.Context, audit.Filter, int64, int) ([]audit.Chained, bool, error) {
	return nil, false, f.err
}

func (f *fakeAudit) EntriesOf(context.Context, domain.TenantID, audit.Filter, int64, int) ([]audit.Chained, bool, error) {
	return nil, false, f.err
}

func (f *fakeAudit) Head(context.Context) (audit.Head, error) { return audit.Head{}, f.err }
