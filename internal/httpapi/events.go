package httpapi

import (
	"context"
	"encoding/binary"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// ListAccountEvents serves GET /v1/accounts/{account_id}/events.
func (s *server) ListAccountEvents(ctx context.Context, request ListAccountEventsRequestObject) (ListAccountEventsResponseObject, error) {
	id, err := accountID(request.AccountID)
	if err != nil {
		return nil, err
	}
	list := listing{tenant: caller(ctx).Tenant, name: "account_events", filter: id.String()}
	after, err := resume(s.cursors, list, request.Params.Cursor, parseRevision)
	if err != nil {
		return nil, err
	}
	page, err := s.directory.AccountEvents(ctx, caller(ctx), id, after, pageSize(request.Params.Limit))
	if err != nil {
		return nil, err
	}
	response := ListAccountEvents200JSONResponse{Events: encodeAll(page.Events, encodeEvent)}
	if page.More {
		response.NextCursor = nextCursor(s.cursors, list, true, formatRevision(page.Events[len(page.Events)-1].Revision))
	}
	return response, nil
}

// ListEvents serves GET /v1/identity/events.
func (s *server) ListEvents(ctx context.Context, request ListEventsRequestObject) (ListEventsResponseObject, error) {
	list := listing{tenant: caller(ctx).Tenant, name: "events"}
	after, err := resume(s.cursors, list, request.Params.Cursor, parseFeedPosition)
	if err != nil {
		return nil, err
	}
	page, err := s.directory.Feed(ctx, caller(ctx), after, pageSize(request.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListEvents200JSONResponse{
		Events:     encodeAll(page.Events, encodeEvent),
		NextCursor: s.cursors.seal(list, formatFeedPosition(page.Next)),
		More:       page.More,
	}, nil
}

// The position in a history is the last event's revision, a varint.

func formatRevision(revision int64) []byte { return binary.AppendUvarint(nil, uint64(revision)) }

func parseRevision(position []byte) (int64, error) {
	revision, length := binary.Uvarint(position)
	if length <= 0 || length != len(position) {
		return 0, errCursor()
	}
	return int64(revision), nil
}

// The position in a feed is the last sequence of each number's stream, a varint
// each: 64 bytes at the beginning, and about 200 once there were a million events.

func formatFeedPosition(p identity.FeedPosition) []byte {
	position := make([]byte, 0, len(p))
	for _, sequence := range p {
		position = binary.AppendUvarint(position, uint64(sequence))
	}
	return position
}

func parseFeedPosition(position []byte) (p identity.FeedPosition, err error) {
	for number := range p {
		sequence, length := binary.Uvarint(position)
		if length <= 0 {
			return p, errCursor()
		}
		p[number], position = int64(sequence), position[length:]
	}
	if len(position) > 0 {
		return p, errCursor()
	}
	return p, nil
}

func encodeEvent(e identity.Event) Event {
	return Event{
		Kind:     string(e.Kind),
		Family:   string(e.Family),
		RecordID: e.Record.String(),
		Revision: e.Revision,
		Fields:   orEmpty(e.Fields),
		Actor:    encodeActor(e.Actor),
		At:       e.At.UTC(),
	}
}

// encodeActor spells a client's id as everywhere.
func encodeActor(a identity.Actor) Actor {
	encoded := Actor{Kind: string(a.Kind)}
	switch {
	case a.Kind == identity.ActorClient:
		encoded.ID = textOrNil(tenancy.ClientIDText(domain.ClientID(a.ID)))
	case !a.ID.IsZero():
		encoded.ID = textOrNil(a.ID.String())
	}
	return encoded
}
