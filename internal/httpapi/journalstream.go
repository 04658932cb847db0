package httpapi

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	heartbeat = 15 * time.Second // between two comments of a stream where nothing comes
	// A reader whose stream has ended comes back after between one and two of these,
	// so that those of a server that stops don't come to the next all at once.
	reconnect = time.Second
)

var errTokenEnded = errors.New("the token has expired")

// StreamJournal serves GET /v1/worlds/{world_id}/journal/stream.
func (s *server) StreamJournal(ctx context.Context, request StreamJournalRequestObject) (StreamJournalResponseObject, error) {
	after := orZero(request.Params.After)
	if id := request.Params.LastEventID; id != nil {
		var err error
		if after, err = parseEventID(*id); err != nil {
			return nil, err
		}
	}
	follow, err := s.coordinator.Follow(ctx, caller(ctx), request.WorldID, after)
	if err != nil {
		return nil, err
	}
	return &journalStream{server: s, ctx: ctx, follow: follow, headers: isHead(ctx)}, nil
}

// parseEventID reads a position as events spell it.
func parseEventID(id string) (position int64, err error) {
	position, err = strconv.ParseInt(id, 10, 64)
	if err != nil || position < 0 || strconv.FormatInt(position, 10) != id {
		return 0, malformed("last_event_id_malformed", "Last-Event-ID is not the id of an event of this stream.").at("Last-Event-ID")
	}
	return position, nil
}

// journalStream is a stream of server-sent events (HTML, section 9.2). It holds one
// page of entries at a time, and waits with it for a slow reader. However it ends,
// the reader connects again with the last id that it has, so it ends well but for
// what must be looked into here.
type journalStream struct {
	server  *server
	ctx     context.Context // the request's
	follow  following
	headers bool // nothing is asked for but them
}

// following is what a stream needs of lease.Following.
type following interface {
	Next(ctx context.Context, within time.Duration) ([]journal.Entry, error)
	Close()
}

// VisitStreamJournalResponse writes the stream until it ends.
func (j *journalStream) VisitStreamJournalResponse(w http.ResponseWriter) error {
	defer j.follow.Close()
	w.Header().Set("Content-Type", mediaEvents)
	w.Header().Set("Cache-Control", noStore)
	w.Header().Set("X-Accel-Buffering", "no") // nginx passes it on at once
	w.WriteHeader(http.StatusOK)
	if j.headers {
		return nil
	}
	events := &eventWriter{writer: w, control: callOf(j.ctx).connection.control, pause: j.server.pause}
	again := reconnect + rand.N(reconnect)
	if err := events.write("retry: " + strconv.FormatInt(again.Milliseconds(), 10) + "\n\n"); err != nil {
		return j.ended(err)
	}
	ctx, end := j.lasting()
	defer end()
	for {
		if err := j.pass(ctx, events); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return j.ended(err)
		}
	}
}

// pass writes the next entries, or that there are none. It looks first at who
// reads: a token that was good when the stream began may have been revoked.
func (j *journalStream) pass(ctx context.Context, events *eventWriter) error {
	if err := j.server.stillAdmits(ctx); err != nil {
		return err
	}
	entries, err := j.follow.Next(ctx, heartbeat)
	switch {
	case err != nil:
		return err
	case len(entries) == 0:
		return events.write(":\n\n")
	}
	return events.writeEntries(entries)
}

// lasting ends with the token, the caller, the request's time, or the server.
func (j *journalStream) lasting() (context.Context, func()) {
	ctx, end := j.server.waiting(j.ctx)
	expires := caller(ctx).Expires
	if expires.IsZero() {
		return ctx, end
	}
	ctx, cancel := context.WithDeadlineCause(ctx, expires, errTokenEnded)
	return ctx, func() { cancel(); end() }
}

// ended notes why the stream ended. What only its reader is concerned with it is
// told when it connects again.
func (j *journalStream) ended(err error) error {
	var known *domain.Error
	var edge *problem
	code := ""
	switch {
	case errors.Is(err, errReaderGone), errors.Is(err, errCallerGone):
		code = "connection_closed"
	case errors.Is(err, errTokenEnded):
		code = "token_expired"
	case errors.Is(err, errDraining):
		code = "draining"
	case errors.Is(err, context.DeadlineExceeded): // its hour is over
	case errors.As(err, &edge):
		code = edge.code
	case errors.As(err, &known) && known.Kind != domain.KindInternal:
		code = known.Code
	default:
		return err
	}
	callOf(j.ctx).code = code
	return nil
}

// stillAdmits authenticates the caller of a request again.
func (s *server) stillAdmits(ctx context.Context) error {
	call := callOf(ctx)
	token, err := bearer(call.authorization)
	if err != nil {
		return err
	}
	var scope tenancy.Scope
	if scope, err = s.tokens.Authenticate(ctx, token); err != nil {
		return err
	}
	if !admits(scope, call.operation.scope) {
		return insufficient(call.operation.scope)
	}
	return nil
}
