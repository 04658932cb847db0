package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// fakeDirectory answers with one account, or with err, or does what act says.
type fakeDirectory struct {
	err error
	act func(context.Context) error
	got any // what the last call was asked

	next    *identity.Position // of accounts
	history identity.EventPage
	feed    identity.FeedPage
	devices identity.DevicePage
	report  identity.Report

	lines   []identity.ImportLine    // that an import gave
	wrong   map[string]*domain.Error // with a line, by its key
	arrived chan identity.ImportLine // gets each line, if it is there
}

var (
	knownAccount = domain.AccountID{0x01, 0x93, 15: 1}
	knownChange  = domain.EmailChangeID{15: 2}
	verifiedAt   = time.Date(2026, 11, 30, 13, 0, 0, 0, time.FixedZone("", 3600))
)

func theAccount() identity.Account {
	return identity.Account{
		ID: knownAccount, Revision: 7, Status: identity.Active,
		Handle: identity.RestoreHandle("Ada", "ada", ""), Email: identity.RestoreEmail("Ada@example.com", "ada@example.com"),
		EmailVerifiedAt: &verifiedAt, Attributes: json.RawMessage(`{"n": 12345678901234567890.5}`),
		CreatedAt: verifiedAt, UpdatedAt: verifiedAt,
	}
}

func (f *fakeDirectory) called(ctx context.Context, got any) error {
	f.got = got
	if f.act != nil {
		return f.act(ctx)
	}
	return f.err
}

func (f *fakeDirectory) Create(ctx context.Context, _ tenancy.Scope, want identity.CreateAccount) (identity.Created, error) {
	err := f.called(ctx, want)
	created := identity.Created{Account: theAccount(), Replayed: want.IdempotencyKey == "replayed"}
	if want.Email != nil && !want.EmailVerified {
		created.Account.Email, created.Account.EmailVerifiedAt = identity.Email{}, nil
		created.EmailChange = &identity.EmailChange{ID: knownChange, Email: identity.RestoreEmail(*want.Email, *want.Email), Code: "12345678", ExpiresAt: verifiedAt}
	}
	return created, err
}

func (f *fakeDirectory) Get(ctx context.Context, _ tenancy.Scope, id domain.AccountID) (identity.Account, error) {
	return theAccount(), f.called(ctx, id)
}

func (f *fakeDirectory) SweepProgress(ctx context.Context) ([]identity.SweepProgress, error) {
	return nil, f.called(ctx, nil)
}

type patched struct {
	ID       domain.AccountID
	Revision int64
	Patch    identity.AccountPatch
}

func (f *fakeDirectory) Patch(ctx context.Context, _ tenancy.Scope, id domain.AccountID, revision int64, patch identity.AccountPatch) (identity.Account, error) {
	return theAccount(), f.called(ctx, patched{id, revision, patch})
}

func (f *fakeDirectory) Delete(ctx context.Context, _ tenancy.Scope, id domain.AccountID, revision int64) error {
	return f.called(ctx, patched{ID: id, Revision: revision})
}

type listed struct {
	Filter identity.AccountFilter
	After  *identity.Position
	Limit  int
}

func (f *fakeDirectory) List(ctx context.Context, _ tenancy.Scope, filter identity.AccountFilter, after *identity.Position, limit int) (identity.AccountPage, error) {
	return identity.AccountPage{Next: f.next}, f.called(ctx, listed{filter, after, limit})
}

func (f *fakeDirectory) BatchGet(ctx context.Context, _ tenancy.Scope, ids []domain.AccountID) ([]identity.BatchResult, error) {
	results := make([]identity.BatchResult, len(ids))
	for i, id := range ids {
		results[i].ID = id
		if id == knownAccount {
			account := theAccount()
			results[i].Account = &account
		}
	}
	return results, f.called(ctx, ids)
}

func (f *fakeDirectory) LookupHandle(ctx context.Context, _ tenancy.Scope, handle string) (identity.Account, error) {
	return theAccount(), f.called(ctx, "handle "+handle)
}

func (f *fakeDirectory) LookupEmail(ctx context.Context, _ tenancy.Scope, email string) (identity.Account, error) {
	return theAccount(), f.called(ctx, "email "+email)
}

func (f *fakeDirectory) BeginEmailChange(ctx context.Context, _ tenancy.Scope, id domain.AccountID, want identity.BeginEmailChange) (identity.BegunEmailChange, error) {
	change := identity.EmailChange{ID: knownChange, Email: identity.RestoreEmail("New@example.com", "new@example.com"), Code: "12345678", ExpiresAt: verifiedAt}
	return identity.BegunEmailChange{EmailChange: change, Replayed: want.IdempotencyKey == "replayed"}, f.called(ctx, []any{id, want})
}

func (f *fakeDirectory) PendingEmailChange(ctx context.Context, _ tenancy.Scope, id domain.AccountID) (identity.PendingEmailChange, error) {
	change := identity.PendingEmailChange{
		ID: knownChange, Email: identity.RestoreEmail("New@example.com", "new@example.com"), CreatedAt: verifiedAt.Add(-30 * time.Minute), ExpiresAt: verifiedAt,
	}
	return change, f.called(ctx, id)
}

func (f *fakeDirectory) ConfirmEmailChange(ctx context.Context, _ tenancy.Scope, id domain.AccountID, change domain.EmailChangeID, code string) (identity.Account, error) {
	return theAccount(), f.called(ctx, []any{id, change, code})
}

func (f *fakeDirectory) CancelEmailChange(ctx context.Context, _ tenancy.Scope, id domain.AccountID, change domain.EmailChangeID) error {
	return f.called(ctx, []any{id, change})
}

func (f *fakeDirectory) RemoveEmail(ctx context.Context, _ tenancy.Scope, id domain.AccountID, revision *int64) (identity.Account, error) {
	return theAccount(), f.called(ctx, []any{id, revision})
}

func (f *fakeDirectory) AccountEvents(ctx context.Context, _ tenancy.Scope, id domain.AccountID, after int64, limit int) (identity.EventPage, error) {
	return f.history, f.called(ctx, []any{id, after, limit})
}

func (f *fakeDirectory) Feed(ctx context.Context, _ tenancy.Scope, after identity.FeedPosition, limit int) (identity.FeedPage, error) {
	return f.feed, f.called(ctx, []any{after, limit})
}

func (f *fakeDirectory) Import(ctx context.Context, _ tenancy.Scope, next func() (identity.ImportLine, error), result func(identity.ImportResult) error) error {
	if err := f.called(ctx, "import"); err != nil {
		return err
	}
	for n := 1; ; n++ {
		line, err := next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		f.lines = append(f.lines, line)
		if f.arrived != nil {
			f.arrived <- line
		}
		r := identity.ImportResult{Line: n, Key: line.Key, Result: identity.ImportCreated, Family: domain.FamilyAccount, ID: domain.RecordID(knownAccount)}
		if wrong := cmp.Or(line.Refused, f.wrong[line.Key]); wrong != nil {
			r = identity.ImportResult{Line: n, Key: line.Key, Result: identity.ImportFailed, Error: wrong}
		}
		if err := result(r); err != nil {
			return err
		}
	}
}

func (f *fakeDirectory) Report(ctx context.Context, tenant domain.TenantID) (identity.Report, error) {
	return f.report, f.called(ctx, tenant)
}

func (f *fakeDirectory) Recovery(ctx context.Context, _ tenancy.Scope) (identity.Recovery, error) {
	return identity.Recovery{}, f.called(ctx, nil)
}
