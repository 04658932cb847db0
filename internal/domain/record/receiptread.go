package record

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// StoredReceipt gives what is kept under an operation id.
//
// Errors: not found collection_not_found, receipt_not_found; unavailable.
func (s *Service) StoredReceipt(ctx context.Context, scope tenancy.Scope, collection, operationID string) (Stored, error) {
	if !validText(operationID) {
		return Stored{}, errNoReceipt
	}
	c, err := s.lookAt(ctx, scope, collection, decision{operations: []string{operationID}})
	if err != nil {
		return Stored{}, err
	}
	r, known := c.receipts[operationID]
	if !known {
		return Stored{}, errNoReceipt
	}
	return r.Stored, nil
}

// lookAt reads what a decision would look at.
func (s *Service) lookAt(ctx context.Context, scope tenancy.Scope, collection string, d decision) (*locked, error) {
	ref, err := refOf(collection)
	if err != nil {
		return nil, errNoCollection
	}
	d.collection, d.caller = ref, scope
	f := newFlush([]*decision{&d})
	look := &reading{number: ref.number, queue: func(tx *tenancy.Tx) { f.look(tx, false) }}
	if err := s.look(ctx, scope.Tenant, look); err != nil {
		return nil, err
	}
	f.setUp(s.limits, true)
	if c := f.collections[0].locked; c != nil {
		return c, nil
	}
	return nil, errNoCollection
}
