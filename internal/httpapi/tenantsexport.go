package httpapi

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/export"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// ExportTenant serves GET /v1/tenants/{tenant_id}/export.
func (s *server) ExportTenant(ctx context.Context, request ExportTenantRequestObject) (ExportTenantResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	list := listing{tenant: id, name: "tenant-export"}
	var at export.Position
	if cursor := request.Params.Cursor; cursor != nil {
		text, err := s.cursors.open(list, *cursor)
		if err != nil {
			return nil, err
		}
		if at, err = export.ParsePosition(text); err != nil {
			return nil, err
		}
	}
	if err := s.administration.DemandExportable(ctx, caller(ctx), id); err != nil {
		return nil, err
	}
	first, err := s.exports.Page(ctx, id, at)
	if err != nil {
		return nil, err
	}
	return &exportLines{s, ctx, id, list, first}, nil
}

// exportLines is a whole export, or the rest of one. It is read page by page while it
// is written, so that no more of it is in memory than one page.
type exportLines struct {
	server *server
	ctx    context.Context // the request's
	tenant domain.TenantID
	list   listing
	page   export.Page
}

// VisitExportTenantResponse writes the lines, behind each page where to go on from,
// and at the end that it is the end. After an error they are cut off, so that nobody
// takes those that came for all.
func (e *exportLines) VisitExportTenantResponse(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", mediaNDJSON)
	w.Header().Set("Cache-Control", noStore)
	w.WriteHeader(http.StatusOK)
	if isHead(e.ctx) {
		return nil
	}
	for {
		if err := e.writePage(w); err != nil {
			return err
		}
		if !e.page.More {
			_, err := w.Write([]byte(`{"kind":"end","data":{}}` + "\n"))
			return err
		}
		if err := e.server.stillAdmits(e.ctx); err != nil {
			return err
		}
		var err error
		if e.page, err = e.server.exports.Page(e.ctx, e.tenant, e.page.Next); err != nil {
			return err
		}
	}
}

func (e *exportLines) writePage(w http.ResponseWriter) error {
	if len(e.page.Lines) == 0 {
		return nil
	}
	for _, line := range e.page.Lines {
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	position, err := e.page.Next.Marshal()
	if err != nil {
		return err
	}
	cursor, err := json.Marshal(e.server.cursors.seal(e.list, position))
	if err != nil {
		return err
	}
	_, err = w.Write([]byte(`{"kind":"cursor","data":{"cursor":` + string(cursor) + "}}\n"))
	return err
}

// GetExportedBody serves GET /v1/tenants/{tenant_id}/export/body.
func (s *server) GetExportedBody(ctx context.Context, request GetExportedBodyRequestObject) (GetExportedBodyResponseObject, error) {
	id, err := tenantID(request.TenantID)
	if err != nil {
		return nil, err
	}
	var digest record.Digest
	if n, err := hex.Decode(digest[:], []byte(request.Params.Digest)); err != nil || n != len(digest) {
		return nil, domain.Invalid("digest_malformed", "A digest has 64 hexadecimal digits.").At("?digest")
	}
	if err := s.administration.DemandExportable(ctx, caller(ctx), id); err != nil {
		return nil, err
	}
	body, err := s.exports.Body(ctx, id, request.Params.Collection, request.Params.Key, request.Params.Section, digest)
	if err != nil {
		return nil, err
	}
	callOf(ctx).atEnd(body.Close)
	return &exportedBody{body.Section, isHead(ctx)}, nil
}

// exportedBody is a body, which was verified as a whole.
type exportedBody struct {
	section record.Section
	headers bool // nothing is asked for but them
}

// VisitGetExportedBodyResponse writes the body.
func (b *exportedBody) VisitGetExportedBodyResponse(w http.ResponseWriter) error {
	setBodyHeaders(w.Header(), &b.section)
	w.Header().Del("Accept-Ranges")
	w.Header().Set("Cache-Control", noStore)
	w.Header().Set("Content-Length", strconv.Itoa(len(b.section.Body)))
	w.WriteHeader(http.StatusOK)
	if b.headers {
		return nil
	}
	_, err := w.Write(b.section.Body)
	return err
}
