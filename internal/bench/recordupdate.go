package bench

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// updater is a caller that changes one record by compare-and-swap, from the
// revision that it saw last; 0 while it has seen none.
type updater struct {
	*publisher
	collection collection
	record     string // its key
	revision   int64
}

// update has each caller change a record of its own. The callers are spread over
// the collections.
func (s *stack) update(in []collection) round {
	updaters := make([]*updater, updating)
	for i, p := range newPublishers(updating, bodySize) {
		updaters[i] = &updater{publisher: p, collection: in[i%len(in)], record: p.name + "own"}
	}
	return s.updateAll(updaters)
}

// updateOne has all callers change the same record. One that comes too late tries
// again, from the revision that the refusal shows, and that is one operation still.
func (s *stack) updateOne(in collection) round {
	updaters := make([]*updater, updating)
	record := randomText(10) + "-hot"
	for i, p := range newPublishers(updating, bodySize) {
		updaters[i] = &updater{publisher: p, collection: in, record: record}
	}
	return s.updateAll(updaters)
}

func (s *stack) updateAll(updaters []*updater) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return s.tenant.overWires(ctx, len(updaters), length, func(w *wire, caller int) error {
			u := updaters[caller]
			u.n++
			u.bodies.next()
			body := u.json(u.key())
			for {
				made, err := u.try(s.tenant, w, body)
				if made || err != nil {
					return err
				}
			}
		})
	}
}

// try sends the change once. Refused for its revision, it learns the one that
// stands.
func (u *updater) try(c *client, w *wire, body []byte) (made bool, err error) {
	condition := "If-None-Match: *"
	if u.revision > 0 {
		condition = `If-Match: "` + strconv.FormatInt(u.revision, 10) + `"`
	}
	w.head = c.appendHead(w.head[:0], http.MethodPut, u.collection.record(u.record), mediaJSON, condition)
	status, err := w.exchange(w.head, body)
	if err != nil {
		return false, err
	}
	var answer struct {
		Revision int64 `json:"revision"` // of a receipt
		Record   struct {
			Revision int64 `json:"revision"`
		} `json:"record"` // of a refusal
	}
	if err := json.Unmarshal(w.answer.Bytes(), &answer); err != nil {
		return false, err
	}
	switch status {
	case http.StatusOK:
		u.revision = answer.Revision
		return true, w.made(1)
	case http.StatusPreconditionFailed:
		u.revision = answer.Record.Revision
		return false, nil
	}
	return false, w.unexpected(w.head, status)
}
