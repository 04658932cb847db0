package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// GetRecord serves GET /v1/collections/{collection}/records/{key}.
func (s *server) GetRecord(ctx context.Context, request GetRecordRequestObject) (GetRecordResponseObject, error) {
	if request.Params.Include != nil {
		return s.recordWithBodies(ctx, request)
	}
	found, err := s.records.Record(ctx, caller(ctx), request.Collection, request.Key)
	if err != nil {
		return nil, err
	}
	return GetRecord200JSONResponse{Body: encodeRecord(found), Headers: GetRecord200ResponseHeaders{ETag: etag(found.Revision)}}, nil
}

func (s *server) recordWithBodies(ctx context.Context, request GetRecordRequestObject) (GetRecordResponseObject, error) {
	found, err := s.records.RecordWithBodies(ctx, caller(ctx), request.Collection, request.Key)
	if err != nil {
		return nil, err
	}
	callOf(ctx).atEnd(found.Close)
	return wholeRecord(found.Record), nil
}

// wholeRecord is a record with its bodies. It is its own response: bodies are
// written as they are, not held a second time as text.
type wholeRecord record.Record

// VisitGetRecordResponse writes the record.
func (r wholeRecord) VisitGetRecordResponse(w http.ResponseWriter) error {
	w.Header().Set("ETag", etag(r.Revision))
	return writeJSONValue(w, bodiedRecord{record.Record(r)})
}

// ListRecords serves GET /v1/collections/{collection}/records. The position in the
// list is the key of the last record that was looked at.
func (s *server) ListRecords(ctx context.Context, request ListRecordsRequestObject) (ListRecordsResponseObject, error) {
	live := request.Params.Live
	list := listing{tenant: caller(ctx).Tenant, name: "records", filter: record.FoldName(request.Collection) + " " + spelled(live)}
	after, err := resume(s.cursors, list, request.Params.Cursor, byName)
	if err != nil {
		return nil, err
	}
	page, err := s.records.Records(ctx, caller(ctx), request.Collection, record.Filter{Live: live}, after, pageSize(request.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListRecords200JSONResponse{
		Records:    encodeAll(page.Records, encodeRecord),
		NextCursor: nextCursor(s.cursors, list, page.More, []byte(page.Last)),
	}, nil
}

func spelled(b *bool) string {
	if b == nil {
		return ""
	}
	return strconv.FormatBool(*b)
}
