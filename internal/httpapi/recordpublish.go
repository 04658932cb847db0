package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// PutRecord serves PUT /v1/collections/{collection}/records/{key}.
func (s *server) PutRecord(ctx context.Context, request PutRecordRequestObject) (PutRecordResponseObject, error) {
	held, err := optionalAuthority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	var p record.Publication
	if request.MultipartBody != nil {
		p, err = readUpload(ctx, request.MultipartBody)
	} else {
		p, err = decodePublication(*request.JSONBody)
	}
	if err != nil {
		return nil, err
	}
	p.Key = request.Key
	if p.Expect.Revision, err = optionalRevision(request.Params.IfMatch); err != nil {
		return nil, err
	}
	if p.Expect.Absent, err = ifAbsent(request.Params.IfNoneMatch); err != nil {
		return nil, err
	}
	receipt, err := s.records.Publish(ctx, caller(ctx), request.Collection, held, p)
	switch {
	case err != nil && request.Params.Include != nil:
		return nil, s.withBodies(ctx, request.Collection, request.Key, err)
	case err != nil:
		return nil, err
	}
	return PutRecord200JSONResponse{
		Body:    encodeReceipt(receipt),
		Headers: PutRecord200ResponseHeaders{ETag: etag(receipt.Revision), IdempotentReplayed: replayed(receipt.Replayed)},
	}, nil
}

// withBodies lets a conflict show the record with its bodies. If they can't be had,
// that is the answer: there is none with parts left out.
func (s *server) withBodies(ctx context.Context, collection, key string, refused error) error {
	var conflict *domain.Error
	if !errors.As(refused, &conflict) || conflict.Members["record"] == nil {
		return refused
	}
	// What was to be published is done with. To keep its room while waiting for
	// that of the bodies could leave everybody waiting.
	callOf(ctx).end()
	standing, err := s.records.RecordWithBodies(ctx, caller(ctx), collection, key)
	if err != nil {
		return err
	}
	callOf(ctx).atEnd(standing.Close)
	return conflict.With("record", bodiedRecord{standing.Record})
}

// DeleteRecord serves DELETE /v1/collections/{collection}/records/{key}.
func (s *server) DeleteRecord(ctx context.Context, request DeleteRecordRequestObject) (DeleteRecordResponseObject, error) {
	held, err := optionalAuthority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	revision, err := recordRevision(request.Params.IfMatch)
	if err != nil {
		return nil, err
	}
	receipt, err := s.records.Delete(ctx, caller(ctx), request.Collection, held, request.Key, revision, orZero(request.Params.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	return DeleteRecord200JSONResponse{
		Body:    encodeReceipt(receipt),
		Headers: DeleteRecord200ResponseHeaders{ETag: etag(receipt.Revision), IdempotentReplayed: replayed(receipt.Replayed)},
	}, nil
}

// PublishRecords serves POST /v1/collections/{collection}/publish.
func (s *server) PublishRecords(ctx context.Context, request PublishRecordsRequestObject) (PublishRecordsResponseObject, error) {
	held, err := optionalAuthority(request.Params.HoldfastLease)
	if err != nil {
		return nil, err
	}
	all := make([]record.Publication, len(request.Body.Items))
	for i, item := range request.Body.Items {
		if all[i], err = decodeRecordPublication(item); err != nil {
			return nil, err
		}
	}
	made, err := s.records.PublishEach(ctx, caller(ctx), request.Collection, held, all)
	if err != nil {
		return nil, err
	}
	results := make([]PublicationResult, len(made))
	for i, m := range made {
		results[i] = s.encodeMade(ctx, all[i].Key, m)
	}
	return PublishRecords200JSONResponse{Items: results}, nil
}

// encodeMade says what became of one of many publications.
func (s *server) encodeMade(ctx context.Context, key string, m record.Made) PublicationResult {
	if m.Err == nil {
		receipt := encodeReceipt(m.Receipt)
		result := PublicationResult{Key: key, Outcome: receipt.Outcome, Receipt: &receipt}
		if m.Receipt.Replayed {
			result.Replayed = &m.Receipt.Replayed
		}
		return result
	}
	result := PublicationResult{Key: key, Outcome: "failed", Problem: s.recordProblem(ctx, m.Err)}
	switch domain.KindOf(m.Err) {
	case domain.KindConflict, domain.KindPreconditionFailed:
		result.Outcome = "conflict"
	}
	return result
}

// recordProblem says of one of many what a problem would say of it alone.
func (s *server) recordProblem(ctx context.Context, err error) *RecordProblem {
	p := problemOf(ctx, err)
	if p.status == http.StatusInternalServerError && !errors.Is(err, context.Canceled) {
		s.log.ErrorContext(ctx, "one of several was not published", "error", err)
	}
	return encodeRecordProblem(p)
}

func encodeRecordProblem(p *problem) *RecordProblem {
	encoded := &RecordProblem{Code: p.code, Detail: p.detail, Errors: encodeFields(p.fields)}
	if p.retryAfter > 0 {
		whole := wholeSeconds(p.retryAfter)
		encoded.RetryAfter = &whole
	}
	if standing, is := p.members["record"].(Record); is {
		encoded.Record = &standing
	}
	if section, is := p.members["section"].(string); is {
		encoded.Section = &section
	}
	if epoch, is := p.members["epoch"].(int64); is {
		encoded.Epoch = &epoch
	}
	if holder, is := p.members["holder"].(journal.Actor); is {
		shown := encodeJournalActor(holder)
		encoded.Holder = &shown
	}
	return encoded
}
