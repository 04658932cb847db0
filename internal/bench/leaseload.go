package bench

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	appenders   = 64
	payloadSize = 128 // bytes of an entry
	batchSize   = 100 // entries, or renewals, a request
	batchers    = 8
	pageSize    = 100    // entries
	readEntries = 10_000 // of the journal that is read
	renewPath   = "/v1/leases/renew"
)

// entryMaker makes entries with ids of its own.
type entryMaker struct {
	id   []byte // what they begin with
	n    int64
	body []byte
}

// newEntryMakers gives one for each caller.
func newEntryMakers(callers int) []*entryMaker {
	makers := make([]*entryMaker, callers)
	for i := range makers {
		makers[i] = &entryMaker{id: []byte(randomText(10) + "-")}
	}
	return makers
}

var payload = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{'x'}, payloadSize))

// request is the body of an append of n new entries. It is valid until the next
// one.
func (m *entryMaker) request(n int) []byte {
	m.body = append(m.body[:0], `{"entries":[`...)
	for i := range n {
		if i > 0 {
			m.body = append(m.body, ',')
		}
		m.n++
		m.body = append(append(m.body, `{"entry_id":"`...), m.id...)
		m.body = strconv.AppendInt(m.body, m.n, 10)
		m.body = append(append(append(m.body, `","payload":"`...), payload...), `"}`...)
	}
	m.body = append(m.body, `]}`...)
	return m.body
}

// append writes new entries to the worlds under their leases, so many a request,
// each to a random one. It counts entries.
func (s *stack) append(worlds []held, callers, entries int) round {
	heads := make([][]byte, len(worlds))
	for i, world := range worlds {
		heads[i] = s.tenant.head(http.MethodPost, world.journal(), world.leaseHeader())
	}
	makers := newEntryMakers(callers)
	return s.renewed(worlds, func(ctx context.Context, length time.Duration) (Result, error) {
		result, err := s.tenant.overWires(ctx, callers, length, func(w *wire, caller int) error {
			return w.call(heads[rand.IntN(len(heads))], makers[caller].request(entries), http.StatusCreated)
		})
		result.Operations *= entries
		return result, err
	})
}

// renewals are the bodies of requests that renew all of the worlds' leases.
func renewals(worlds []held) (bodies [][]byte) {
	for some := range slices.Chunk(worlds, batchSize) {
		body, err := json.Marshal(map[string]any{"renewals": some})
		if err != nil {
			panic(err) // text and numbers
		}
		bodies = append(bodies, body)
	}
	return bodies
}

// renew renews leases, as many a request as stand in a body. Each body has a
// caller of its own, as each node has its own worlds. It counts renewals.
func (s *stack) renew(worlds []held) round {
	bodies := renewals(worlds)
	head := s.tenant.head(http.MethodPost, renewPath)
	return func(ctx context.Context, length time.Duration) (Result, error) {
		renewed := make([]int, len(bodies))
		result, err := s.tenant.overWires(ctx, len(bodies), length, func(w *wire, caller int) error {
			if err := w.call(head, bodies[caller], http.StatusOK); err != nil {
				return err
			}
			if refused := bytes.Count(w.answer.Bytes(), []byte(`"refusal"`)); refused > 0 {
				return fmt.Errorf("%d leases were not renewed: %.1000s", refused, w.answer.Bytes())
			}
			renewed[caller] += bytes.Count(w.answer.Bytes(), []byte(`"renewal"`))
			return nil
		})
		result.Operations = 0
		for _, n := range renewed {
			result.Operations += n
		}
		return result, err
	}
}

// fillJournal writes the entries that are read.
func (s *stack) fillJournal(ctx context.Context, world held) error {
	maker := newEntryMakers(1)[0]
	for range readEntries / batchSize {
		request, err := s.tenant.request(ctx, http.MethodPost, world.journal(), maker.request(batchSize))
		if err != nil {
			return err
		}
		request.Header.Set("Holdfast-Lease", world.authority())
		if err := s.tenant.do(request, http.StatusCreated, nil); err != nil {
			return err
		}
	}
	return nil
}

// page reads pages of a journal, each of a random place.
func page(c *client, path string) round {
	var heads [][]byte
	for after := 0; after+pageSize <= readEntries; after += pageSize {
		heads = append(heads, c.head(http.MethodGet, fmt.Sprintf(path, after)))
	}
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return c.overWires(ctx, readers, length, func(w *wire, _ int) error {
			return w.call(heads[rand.IntN(len(heads))], nil, http.StatusOK)
		})
	}
}
