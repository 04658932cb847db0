package httpapi

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/limits"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// fakeLimits admits everybody, unless it has an error for requests or entries.
type fakeLimits struct {
	refuse, refuseEntries error
	importRows            int64 // as many as there are, if 0

	admitted, waiting, done atomic.Int64
	set                     limits.Set
	counted                 limits.Counted
}

func (f *fakeLimits) Admit(_ context.Context, _ domain.TenantID, waits bool) (func(), limits.Admission, error) {
	a := limits.Admission{Policy: `"requests";q=10;w=1`, Remaining: `"requests";r=9;t=1`}
	if f.refuse != nil {
		return nil, a, f.refuse
	}
	f.admitted.Add(1)
	if waits {
		f.waiting.Add(1)
	}
	return func() { f.done.Add(1) }, a, nil
}

func (f *fakeLimits) Entries(context.Context, domain.TenantID, int) error { return f.refuseEntries }

func (f *fakeLimits) ImportRows(context.Context, domain.TenantID) int64 {
	if f.importRows == 0 {
		return limits.Most
	}
	return f.importRows
}

func (f *fakeLimits) Limits(context.Context, tenancy.Scope, domain.TenantID) (limits.Set, error) {
	return f.set, nil
}

func (f *fakeLimits) SetLimits(_ context.Context, _ tenancy.Scope, _ domain.TenantID, set limits.Set) (limits.Set, error) {
	set.Revision++
	f.set = set
	return set, nil
}

func (f *fakeLimits) Usage(context.Context, tenancy.Scope, domain.TenantID, []string) (limits.Counted, error) {
	return f.counted, nil
}
