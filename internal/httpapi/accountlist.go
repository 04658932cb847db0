package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// ListAccounts serves GET /v1/accounts.
func (s *server) ListAccounts(ctx context.Context, request ListAccountsRequestObject) (ListAccountsResponseObject, error) {
	filter := identity.AccountFilter{Status: (*identity.Status)(request.Params.Status)}
	list := listing{tenant: caller(ctx).Tenant, name: "accounts", filter: string(orZero(filter.Status))}
	after, err := resume(s.cursors, list, request.Params.Cursor, parsePosition)
	if err != nil {
		return nil, err
	}
	page, err := s.directory.List(ctx, caller(ctx), filter, after, pageSize(request.Params.Limit))
	if err != nil {
		return nil, err
	}
	response := ListAccounts200JSONResponse{Accounts: encodeAll(page.Accounts, encodeAccount)}
	if page.Next != nil {
		response.NextCursor = nextCursor(s.cursors, list, true, formatPosition(*page.Next))
	}
	return response, nil
}

// A position is the number, one byte, and the id, sixteen.

func formatPosition(p identity.Position) []byte {
	return append([]byte{byte(p.Number)}, p.ID[:]...)
}

func parsePosition(text []byte) (*identity.Position, error) {
	var p identity.Position
	if len(text) != 1+len(p.ID) || text[0] >= domain.Numbers {
		return nil, errCursor()
	}
	p.Number = domain.Number(text[0])
	copy(p.ID[:], text[1:])
	return &p, nil
}

// BatchGetAccounts serves POST /v1/accounts/batch-get.
func (s *server) BatchGetAccounts(ctx context.Context, request BatchGetAccountsRequestObject) (BatchGetAccountsResponseObject, error) {
	ids, err := batchIDs(request.Body.Ids)
	if err != nil {
		return nil, err
	}
	found, err := s.directory.BatchGet(ctx, caller(ctx), ids)
	if err != nil {
		return nil, err
	}
	return BatchGetAccounts200JSONResponse{Results: encodeAll(found, encodeResult)}, nil
}

func encodeResult(r identity.BatchResult) BatchResult {
	result := BatchResult{ID: r.ID.String()}
	if r.Account != nil {
		account := encodeAccount(*r.Account)
		result.Account = &account
	}
	return result
}
