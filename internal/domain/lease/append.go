package lease

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Append asks for entries to be written, all or none, one behind the other.
type Append struct {
	Entries    []AppendEntry // 1 to MaxEntries; payloads of MaxPayload bytes together
	IfPosition *int64        // of the last entry that a tenant wrote or that changed the writer; nil for any
}

// AppendEntry is one entry to write.
type AppendEntry struct {
	ID      string // of the caller's own, 1 to 64 printable ASCII characters, unique in the world for good; "" for none
	Payload []byte
	JSON    bool // the payload is one JSON value, and kept as its RFC 8785 bytes
}

// Receipt proves what was written: chain hash and epoch are those of the last of
// the positions.
type Receipt struct {
	World     string
	Epoch     int64
	Positions []int64 // of the entries, in their order
	Hash      journal.Hash
	Replayed  bool // an earlier request wrote them
}

var (
	errNoEntries  = domain.Invalid("entries_missing", "A request appends at least one entry.").At("/entries")
	errTooMany    = domain.Invalid("too_many_entries", "A request appends at most 1,000 entries.").At("/entries")
	errTooLarge   = domain.TooLarge("payloads_too_large", "The payloads of a request have at most 1 MiB together, JSON in its canonical form.").At("/entries")
	errIDReused   = domain.Conflict("entry_id_reused", "An entry with this id and another payload is in the journal. Ids are used once.")
	errPartly     = domain.Conflict("entries_partly_known", "Some of the entries are in the journal and some are not. Nothing was written; send those that are not.")
	errIDTwice    = domain.Invalid("entry_id_twice", "Two entries of a request have the same id.")
	errIDInvalid  = domain.Invalid("entry_id_invalid", "An entry id has 1 to 64 printable ASCII characters without spaces.")
	errEpoch      = domain.Invalid("lease_epoch_invalid", "A lease's epoch is from 1 to 2^53-1.")
	errIfPosition = domain.PreconditionFailed("position_changed", "The journal has gone on since that position. Read it, and decide anew.")
)

// Append writes entries behind the journal, if the caller may write there now: it
// is checked under the head's lock that the caller presents the lease in force, as
// its holder, activated and before its end, or that the coordinator holds and the
// caller presents none.
//
// Entries whose ids are all in the journal with the same payloads get their receipt
// again, whoever may write now. A refused attempt is journaled.
//
// Errors: invalid, too large, not found, conflict fenced, lease_expired or
// lease_not_activated, conflict entry_id_reused or entries_partly_known,
// precondition failed position_changed, unavailable, outcome unknown (the same ids
// find out).
func (s *Service) Append(ctx context.Context, scope tenancy.Scope, world string, a *Authority, req Append) (receipt Receipt, err error) {
	ref, err := refOf(world)
	if err != nil {
		return Receipt{}, errNoWorld
	}
	if a != nil && (a.Epoch < 1 || a.Epoch > journal.MaxInteger) {
		return Receipt{}, errEpoch // no journal could tell of the attempt
	}
	size, err := req.canonicalize()
	if err != nil {
		return Receipt{}, err
	}
	size += len(req.Entries) * entryWeight
	leave, err := s.backlog.enter(s.router.Database(ref.number), scope.Tenant, size)
	if err != nil {
		return Receipt{}, err
	}
	defer leave()
	began, caller := time.Now(), actorOf(scope)
	err = s.decide(ctx, scope.Tenant, &decision{world: ref, ids: req.ids(), bytes: size, decide: func(w *locked) error {
		var known bool
		if receipt, known, err = w.receiptOf(&req); known || err != nil {
			return err
		}
		if refused := w.fence(caller, a); refused != nil {
			w.reject(caller, a)
			return refused
		}
		if req.IfPosition != nil && *req.IfPosition != w.WrittenPosition {
			return errIfPosition.With("position", w.WrittenPosition)
		}
		receipt = w.append(caller, &req)
		return nil
	}})
	if err == nil && !receipt.Replayed {
		s.heat.count(scope.Tenant, ref, len(req.Entries), began)
	}
	return receipt, err
}

// canonicalize checks the request and brings its JSON into canonical form. It gives
// the size of the payloads.
func (req *Append) canonicalize() (size int, err error) {
	switch n := len(req.Entries); {
	case n == 0:
		return 0, errNoEntries
	case n > MaxEntries:
		return 0, errTooMany
	}
	ids := make(map[string]bool, len(req.Entries))
	for i := range req.Entries {
		e := &req.Entries[i]
		pointer := fmt.Sprintf("/entries/%d", i)
		switch {
		case e.ID != "" && !journal.ValidEntryID(e.ID):
			return 0, errIDInvalid.At(pointer + "/entry_id")
		case e.ID != "" && ids[e.ID]:
			return 0, errIDTwice.At(pointer + "/entry_id")
		}
		ids[e.ID] = e.ID != ""
		if e.JSON {
			if e.Payload, err = journal.CanonicalJSON(e.Payload); err != nil {
				return 0, at(err, pointer+"/json")
			}
		}
		if size += len(e.Payload); size > MaxPayload { // as it is kept: JSON may grow
			return 0, errTooLarge
		}
	}
	return size, nil
}

func (req *Append) ids() (ids []string) {
	for _, e := range req.Entries {
		if e.ID != "" {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// The details of an entry, by whether its payload is JSON.
var (
	writtenJSON  = json.RawMessage(`{"format":"` + journal.FormatJSON + `"}`)
	writtenBytes = json.RawMessage(`{"format":"` + journal.FormatBytes + `"}`)
)

func (e *AppendEntry) details() json.RawMessage {
	if e.JSON {
		return writtenJSON
	}
	return writtenBytes
}

func (w *locked) append(caller journal.Actor, req *Append) Receipt {
	receipt := Receipt{World: w.ref.id, Epoch: w.Epoch, Positions: make([]int64, len(req.Entries))}
	for i := range req.Entries {
		e := &req.Entries[i]
		w.write(journal.Entry{Epoch: w.Epoch, Kind: journal.KindEntry, Actor: caller, EntryID: e.ID, Details: e.details(), Payload: e.Payload})
		receipt.Positions[i] = w.Position
	}
	receipt.Hash = w.Hash
	return receipt
}
