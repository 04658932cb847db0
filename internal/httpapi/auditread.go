package httpapi

import (
	"context"
	"encoding/binary"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// maxAuditLines is how many entries come as lines, at most.
const maxAuditLines = 100_000

// auditQuery is what is asked of the log.
type auditQuery struct {
	list   listing
	after  int64
	limit  int64
	filter audit.Filter
	read   func(ctx context.Context, filter audit.Filter, after int64, limit int) ([]audit.Chained, bool, error)
	shown  func(audit.Chained) ([]byte, error)
}

// ListAudit serves GET /v1/audit.
func (s *server) ListAudit(ctx context.Context, request ListAuditRequestObject) (ListAuditResponseObject, error) {
	p := request.Params
	filter := audit.Filter{Operator: orZero(p.Operator), Operation: orZero(p.Operation), From: orZero(p.From), To: orZero(p.To)}
	if p.TenantID != nil {
		if filter.Tenant.UnmarshalText([]byte(*p.TenantID)) != nil || filter.Tenant == tenancy.Operators {
			return nil, domain.Invalid("tenant_id_invalid", "It is not a tenant's id.").At("?tenant_id")
		}
	}
	return s.auditAnswer(ctx, auditQuery{
		list:   listing{tenant: tenancy.Operators, name: "audit"},
		filter: filter, read: s.auditLog.Entries, shown: whole,
	}, p.Cursor, p.After, p.Limit)
}

// ListTenantAudit serves GET /v1/tenants/{tenant_id}/audit.
func (s *server) ListTenantAudit(ctx context.Context, request ListTenantAuditRequestObject) (ListTenantAuditResponseObject, error) {
	tenant, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	if err := s.administration.DemandTenant(ctx, caller(ctx), tenancy.OperatorRead, tenant); err != nil {
		return nil, err
	}
	p := request.Params
	return s.auditAnswer(ctx, auditQuery{
		list:   listing{tenant: tenancy.Operators, name: "audit"},
		filter: audit.Filter{Tenant: tenant, Operator: orZero(p.Operator), Operation: orZero(p.Operation), From: orZero(p.From), To: orZero(p.To)},
		read:   s.auditLog.Entries, shown: whole,
	}, p.Cursor, p.After, p.Limit)
}

// ListOwnAudit serves GET /v1/audit/own.
func (s *server) ListOwnAudit(ctx context.Context, request ListOwnAuditRequestObject) (ListOwnAuditResponseObject, error) {
	p := request.Params
	tenant := caller(ctx).Tenant
	return s.auditAnswer(ctx, auditQuery{
		list:   listing{tenant: tenant, name: "own_audit"},
		filter: audit.Filter{Operation: orZero(p.Operation), From: orZero(p.From), To: orZero(p.To)},
		read: func(ctx context.Context, filter audit.Filter, after int64, limit int) ([]audit.Chained, bool, error) {
			return s.auditLog.EntriesOf(ctx, tenant, filter, after, limit)
		},
		shown: concerned,
	}, p.Cursor, p.After, p.Limit)
}

// GetAuditHead serves GET /v1/audit/head.
func (s *server) GetAuditHead(ctx context.Context, _ GetAuditHeadRequestObject) (GetAuditHeadResponseObject, error) {
	head, err := s.auditLog.Head(ctx)
	if err != nil {
		return nil, err
	}
	return GetAuditHead200JSONResponse{Sequence: head.Sequence, Hash: head.Hash.String(), At: head.At, KeyID: head.KeyID, Signature: head.Signature}, nil
}

// whole is an entry as operators see it, and as it can be verified.
func whole(c audit.Chained) ([]byte, error) { return c.AppendJSON(nil), nil }

// concerned is an entry as a tenant sees it that it concerns: without what is its
// operators' own, and what is of other entries.
func concerned(c audit.Chained) ([]byte, error) {
	e, err := c.Entry()
	if err != nil {
		return nil, err
	}
	e.Previous = audit.Hash{}
	if e.Actor != nil && e.Actor.Tenant == tenancy.Operators {
		e.Address, e.Request, e.Actor.Key = "", "", domain.KeyID{}
	}
	text, err := json.Marshal(e, json.OmitZeroStructFields(true))
	if err != nil {
		return nil, err
	}
	value := jsontext.Value(text)
	err = value.Canonicalize()
	return audit.Chained{Text: string(value), Hash: c.Hash}.AppendJSON(nil), err
}

// auditAnswer reads the first page and says how the rest is had.
func (s *server) auditAnswer(ctx context.Context, q auditQuery, cursor *string, after, limit *int64) (*auditEntries, error) {
	f := q.filter
	q.list.filter = f.Tenant.String() + "\n" + f.Operator + "\n" + f.Operation + "\n" + f.From.UTC().Format(time.RFC3339Nano) + "\n" + f.To.UTC().Format(time.RFC3339Nano)
	position, err := resume(s.cursors, q.list, cursor, bySequence)
	if err != nil {
		return nil, err
	}
	q.after, q.limit = max(position, orZero(after)), int64(pageSize(limit))
	lines := accepts(callOf(ctx).accept, mediaNDJSON)
	if lines {
		q.limit = maxAuditLines
		if limit != nil {
			q.limit = min(max(*limit, 1), maxAuditLines)
		}
	}
	first, more, err := q.read(ctx, q.filter, q.after, int(min(q.limit, audit.MaxPage)))
	if err != nil {
		return nil, err
	}
	return &auditEntries{ctx: ctx, query: q, cursors: s.cursors, lines: lines, page: first, more: more}, nil
}

func bySequence(position []byte) (int64, error) {
	if len(position) != 8 {
		return 0, errCursor()
	}
	return int64(binary.BigEndian.Uint64(position)), nil
}

// auditEntries are the answer of each of the three: entries to the letter, as they can
// be verified. Lines are read page by page while they are written.
type auditEntries struct {
	ctx     context.Context
	query   auditQuery
	cursors cursors
	lines   bool
	page    []audit.Chained
	more    bool
}

// VisitListAuditResponse writes them.
func (a *auditEntries) VisitListAuditResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitListTenantAuditResponse writes them.
func (a *auditEntries) VisitListTenantAuditResponse(w http.ResponseWriter) error { return a.write(w) }

// VisitListOwnAuditResponse writes them.
func (a *auditEntries) VisitListOwnAuditResponse(w http.ResponseWriter) error { return a.write(w) }

func (a *auditEntries) write(w http.ResponseWriter) error {
	if a.lines {
		return a.writeLines(w)
	}
	text := []byte(`{"entries":[`)
	for i, c := range a.page {
		if i > 0 {
			text = append(text, ',')
		}
		entry, err := a.query.shown(c)
		if err != nil {
			return err
		}
		text = append(text, entry...)
	}
	text = append(text, ']')
	if a.more {
		position := binary.BigEndian.AppendUint64(nil, uint64(a.page[len(a.page)-1].Sequence))
		text = append(text, `,"next_cursor":"`+a.cursors.seal(a.query.list, position)+`"`...)
	}
	setMedia(w, mediaJSON)
	_, err := w.Write(append(text, '}'))
	return err
}

// writeLines cuts the answer off after an error, so that nobody takes the lines that
// came for all.
func (a *auditEntries) writeLines(w http.ResponseWriter) error {
	setMedia(w, mediaNDJSON)
	w.WriteHeader(http.StatusOK)
	left := a.query.limit
	for page, more := a.page, a.more; ; {
		var text []byte
		for _, c := range page {
			entry, err := a.query.shown(c)
			if err != nil {
				return err
			}
			text = append(append(text, entry...), '\n')
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		if left -= int64(len(page)); left <= 0 || !more {
			return nil
		}
		var err error
		if page, more, err = a.query.read(a.ctx, a.query.filter, page[len(page)-1].Sequence, int(min(left, audit.MaxPage))); err != nil {
			return err
		}
	}
}
