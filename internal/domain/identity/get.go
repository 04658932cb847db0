package identity

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// errNoAccount is the answer for an id that is random, another tenant's, not
// committed yet, or deleted: one and the same.
var errNoAccount = domain.NotFound("account_not_found", "There is no account with this id.")

// Get reads the committed account, whatever is prepared beside it.
//
// Errors: not found, unavailable, the gates' refusals.
func (s *Service) Get(ctx context.Context, scope tenancy.Scope, id domain.AccountID) (Account, error) {
	r, err := s.read(ctx, scope.Tenant, accountRef(id), true)
	if err != nil {
		return Account{}, err
	}
	if !r.account.visible() {
		return Account{}, errNoAccount
	}
	return r.account.Account, nil
}

// BatchResult is the answer for one id of a batch.
type BatchResult struct {
	ID      domain.AccountID
	Account *Account // nil if there is none
}

// MaxBatch bounds the ids of one BatchGet.
const MaxBatch = 100

// BatchGet reads up to MaxBatch accounts, and answers in the order asked. The
// accounts of one number are of one moment; those of several need not be.
func (s *Service) BatchGet(ctx context.Context, scope tenancy.Scope, ids []domain.AccountID) ([]BatchResult, error) {
	if len(ids) > MaxBatch {
		return nil, domain.Invalid("batch_too_large", "A batch has at most 100 ids. Split it.").At("/ids")
	}
	readings := make([]*reading, len(ids))
	for i, id := range ids {
		readings[i] = &reading{record: accountRef(id), light: true}
	}
	err := onDatabases(readings, func(r *reading) *postgres.Database { return s.router.Database(r.record.Number) },
		func(db *postgres.Database, some []*reading) error {
			return s.reading.Do(ctx, db, scope.Tenant, some...)
		})
	if err != nil {
		return nil, err
	}
	results := make([]BatchResult, len(ids))
	for i, r := range readings {
		results[i].ID = ids[i]
		if r.account.visible() {
			results[i].Account = &r.account.Account
		}
	}
	return results, nil
}
