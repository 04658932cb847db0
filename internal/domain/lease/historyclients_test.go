package lease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

func describe(parts ...any) string { return fmt.Sprintf("%+v", parts) }

// historyTerm is longer than any history takes, so that a lease ends when the clock
// is set, and never else.
const historyTerm = 10 * time.Minute

// history is what was asked of one world, and answered.
type history struct {
	t     *testing.T
	arena string
	began time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
	receipts   map[string]Receipt // by entry id: acknowledged
	doubtful   map[string]bool    // entry ids of unknown outcome
	refused    int64              // appends, by the fence
	lost       int64              // appends of unknown outcome
}

func newHistory(t *testing.T, world string) *history {
	return &history{t: t, arena: world, began: time.Now(), receipts: map[string]Receipt{}, doubtful: map[string]bool{}}
}

// ask makes a request and notes what came of it. An answer that says that nothing
// was changed is no part of the history: if it is wrong, the rest won't fit.
func (h *history) ask(client int, in request, call func() (response, error)) (got response) {
	operation := porcupine.Operation{ClientId: client, Input: in, Call: int64(time.Since(h.began))}
	got, err := call()
	operation.Return = int64(time.Since(h.began))
	var refusal *domain.Error
	switch {
	case err == nil:
	case domain.KindOf(err) == domain.KindOutcomeUnknown:
		got.unknown, operation.Return = true, math.MaxInt64
	case domain.KindOf(err) == domain.KindUnavailable:
		return response{code: "unavailable"}
	case errors.As(err, &refusal):
		got = response{code: refusal.Code}
		got.epoch, _ = refusal.Members["epoch"].(int64)
		if holder, is := refusal.Members["holder"].(journal.Actor); is {
			got.holder = nodeName(holder)
		}
	default:
		h.t.Errorf("%+v got %v", in, err)
	}
	operation.Output = got
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, operation)
	if in.kind == "append" {
		h.noteAppend(in, got)
	}
	return got
}

func (h *history) noteAppend(in request, got response) {
	switch {
	case got.unknown:
		h.doubtful[in.id] = true
		h.lost++
	case fencing[got.code]:
		h.refused++
	}
}

// nodeName is "" for the coordinator, and else the name that a principal's id was
// made from.
func nodeName(actor journal.Actor) string {
	for _, name := range []string{"a", "b", "c"} {
		if actor.Subject == domain.DeriveID[domain.PrincipalKind]([]byte("principals"), name).String() {
			return name
		}
	}
	return ""
}

// client is one caller of a history, at one process.
type client struct {
	*coordinator
	*history
	number int
	name   string // of its principal
	random *rand.Rand
	asked  int // how often

	acquiring string       // a request of unknown outcome
	leases    []told       // it may present, newest last
	again     *AppendEntry // of unknown outcome
}

// act makes one request at random.
func (c *client) act() {
	c.asked++
	switch n := c.random.IntN(100); {
	case n < 10:
		c.lookAndRevoke()
	case n < 20:
		c.ask(c.number, request{kind: "lease"}, func() (response, error) { return c.lookAt() })
	case n < 35 || len(c.leases) == 0 && n < 60:
		c.tryAcquiring()
	case n < 75 || len(c.leases) == 0:
		c.tryAppending()
	default:
		c.useLease()
	}
}

func (c *client) tryAcquiring() {
	id := c.acquiring
	if id == "" {
		id = fmt.Sprintf("%d-%d", c.number, c.asked)
	}
	in := request{kind: "acquire", by: c.name, id: id, takeover: c.random.IntN(3) == 0}
	var grant Grant
	got := c.ask(c.number, in, func() (r response, err error) {
		grant, err = c.Acquire(context.Background(), c.scope, c.arena, Acquire{
			RequestID: id, Term: historyTerm, Replay: historyTerm, Takeover: in.takeover,
		})
		return response{epoch: grant.Epoch, holder: c.name, activated: grant.Activated}, err
	})
	c.acquiring = ""
	switch {
	case got.unknown:
		c.acquiring = id
	case got.code == "":
		c.leases = append(c.leases, told{Authority: Authority{grant.Epoch, grant.Secret}, handoff: grant.HandoffPosition})
		if c.random.IntN(4) > 0 {
			c.activateLease(&c.leases[len(c.leases)-1])
		}
	}
}

// someLease is mostly the newest.
func (c *client) someLease() *told {
	if c.random.IntN(4) == 0 {
		return &c.leases[c.random.IntN(len(c.leases))]
	}
	return &c.leases[len(c.leases)-1]
}

func (c *client) useLease() {
	lease := c.someLease()
	switch c.random.IntN(4) {
	case 0:
		c.activateLease(lease)
	case 1:
		c.ask(c.number, request{kind: "hand off", by: c.name, epoch: lease.Epoch}, func() (response, error) {
			done, err := c.HandOff(context.Background(), c.scope, c.arena, lease.Authority, ToCoordinator)
			return response{epoch: done.Epoch, holder: nodeName(done.To), activated: true}, err
		})
	default:
		c.ask(c.number, request{kind: "renew", by: c.name, epoch: lease.Epoch}, func() (response, error) {
			renewed, err := c.Renew(context.Background(), c.scope, c.arena, lease.Authority)
			return response{epoch: renewed.Epoch, holder: c.name}, err
		})
	}
}

func (c *client) activateLease(lease *told) {
	page, err := c.Entries(context.Background(), c.scope, c.arena, lease.handoff-1, 1)
	if err != nil || len(page.Entries) == 0 {
		return
	}
	hash := page.Entries[0].Hash
	c.ask(c.number, request{kind: "activate", by: c.name, epoch: lease.Epoch}, func() (response, error) {
		state, err := c.Activate(context.Background(), c.scope, c.arena, lease.Authority, lease.handoff, hash)
		return response{epoch: state.Epoch, holder: nodeName(state.Holder), activated: state.Activated}, err
	})
}

func (c *client) tryAppending() {
	entry := AppendEntry{ID: fmt.Sprintf("%d.%d", c.number, c.asked), Payload: []byte("payload")}
	if c.again != nil {
		entry = *c.again
	}
	in := request{kind: "append", by: c.name, id: entry.ID}
	var authority *Authority
	if len(c.leases) > 0 && c.random.IntN(5) > 0 {
		lease := c.someLease().Authority
		authority, in.epoch = &lease, lease.Epoch
	}
	var receipt Receipt
	got := c.ask(c.number, in, func() (r response, err error) {
		receipt, err = c.Append(context.Background(), c.scope, c.arena, authority, Append{Entries: []AppendEntry{entry}})
		if receipt.Replayed {
			return response{replayed: true}, err
		}
		holder := c.name
		if authority == nil {
			holder = ""
		}
		return response{epoch: receipt.Epoch, holder: holder, activated: true}, err
	})
	c.again = nil
	switch {
	case got.unknown:
		c.again = &entry
	case got.code == "":
		c.acknowledge(entry.ID, receipt)
	}
}

// acknowledge keeps a receipt; a second one must be the same.
func (h *history) acknowledge(id string, receipt Receipt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	receipt.Replayed = false
	if first, is := h.receipts[id]; is && (first.Positions[0] != receipt.Positions[0] || first.Hash != receipt.Hash) {
		h.t.Errorf("%s has the receipts %+v and %+v", id, first, receipt)
	}
	h.receipts[id] = receipt
}

func (c *client) lookAt() (response, error) {
	state, err := c.Lease(context.Background(), c.scope, c.scope.Tenant, c.arena)
	return response{epoch: state.Epoch, holder: nodeName(state.Holder), activated: state.Activated}, err
}

// lookAndRevoke is an operator's: it revokes what it saw.
func (c *client) lookAndRevoke() {
	state, err := c.Lease(context.Background(), c.scope, c.scope.Tenant, c.arena)
	if err != nil || state.Holder.IsCoordinator() {
		return
	}
	c.ask(c.number, request{kind: "revoke", epoch: state.Epoch}, func() (response, error) {
		done, err := c.Revoke(context.Background(), operator(), c.scope.Tenant, c.arena, Revoke{state.Epoch, state.RenewedPosition, "it hangs"})
		return response{epoch: done.Epoch, holder: nodeName(done.To), activated: true}, err
	})
}
