package httpapi

import (
	"context"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// ExportRecords serves GET /v1/collections/{collection}/export.
func (s *server) ExportRecords(ctx context.Context, request ExportRecordsRequestObject) (ExportRecordsResponseObject, error) {
	asked := record.ExportRequest{
		Section: orZero(request.Params.Section),
		After:   orZero(request.Params.After),
		Limit:   record.MaxExported,
		Bodies:  request.Params.Include != nil,
		Mark:    request.Params.Unavailable != nil,
	}
	if limit := request.Params.Limit; limit != nil {
		asked.Limit = int(min(max(*limit, 1), record.MaxExported))
	}
	page, err := s.records.Export(ctx, caller(ctx), request.Collection, asked)
	if err != nil {
		return nil, err
	}
	callOf(ctx).atEnd(page.Close)
	if asked.Bodies {
		return exportWithBodies{page}, nil
	}
	return ExportRecords200JSONResponse(encodePage(page)), nil
}

// exportWithBodies is its own response, as wholeRecord is.
type exportWithBodies struct{ *record.ExportPage }

// VisitExportRecordsResponse writes the page.
func (p exportWithBodies) VisitExportRecordsResponse(w http.ResponseWriter) error {
	return writeJSONValue(w, bodiedPage(p))
}

// encodePage leaves the bodies out.
func encodePage(p *record.ExportPage) ExportPage {
	return ExportPage{Records: encodeAll(p.Records, encodeExported), Next: p.Next, More: p.More, ExportSequence: p.Sequence}
}

func encodeExported(e record.Exported) ExportedSection {
	encoded := ExportedSection{
		Key:            e.Key,
		Section:        e.Name,
		Revision:       e.Revision,
		Live:           e.Live,
		Digest:         digestOrNil(&e.Section),
		Length:         e.Length,
		Producer:       e.Producer,
		ExportSequence: e.Sequence,
		UpdatedAt:      e.UpdatedAt.UTC(),
	}
	if e.Unavailable {
		yes := true
		encoded.Unavailable = &yes
	}
	return encoded
}
