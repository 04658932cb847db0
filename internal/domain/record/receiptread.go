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
