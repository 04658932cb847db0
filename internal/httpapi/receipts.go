package httpapi

import "context"

// GetReceipt serves GET /v1/collections/{collection}/receipts/{operation_id}.
func (s *server) GetReceipt(ctx context.Context, request GetReceiptRequestObject) (GetReceiptResponseObject, error) {
	stored, err := s.records.StoredReceipt(ctx, caller(ctx), request.Collection, request.OperationID)
	if err != nil {
		return nil, err
	}
	var encoded GetReceipt200JSONResponse
	if stored.Publication != nil {
		receipt := encodeReceipt(*stored.Publication)
		encoded.Publication = &receipt
	}
	if stored.Completion != nil {
		completion := encodeCompletion(*stored.Completion)
		encoded.Completion = &completion
	}
	return encoded, nil
}
