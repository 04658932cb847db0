package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

const (
	tick      = 5 * time.Second
	modelTerm = 2 * tick // and the same again for the activation, and one tick
)

type moveKind int

const (
	ticks moveKind = iota
	stepsBack
	acquires
	activates
	activatesWrong // with the hash of another entry
	renews
	handsBack
	handsOn // to the first in line
	appends
	appendsOnce // with an entry id, the same for all
	appendsHosted
	impersonates // appends with the epoch in force, from a process that was told no secret
	looks
	revokes
	pauses // only without the head's lock: reads the head, to write behind it later
)

var moveNames = [...]string{
	"tick", "step back", "acquire", "activate", "activate wrongly", "renew", "hand back", "hand on", "append", "append once",
	"hosted", "impersonate", "look", "revoke", "pause",
}

// move is something that happens, or arrives.
type move struct {
	kind    moveKind
	by      node
	request int // of model.requests
	lease   int // of the leases that by was told: 0 for the newest
}

func (m move) String() string {
	text := moveNames[m.kind]
	if m.by != nobody {
		text = m.by.String() + " " + text
	}
	if m.lease > 0 {
		text += " (an old lease)"
	}
	return text
}

// told is a lease that a node was told of.
type told struct {
	Authority
	request         int
	handoff         int64
	hash, otherHash journal.Hash // of the handoff, and of the entry in front
}

// scene is a state of the model.
type scene struct {
	world  stored
	clock  time.Time
	leases [nodeCount][2]told // the newest two, newest first
	look   *look              // the operator's last
	paused *stored            // what a process read without a lock
	ghost  ghost
}

// look is what somebody saw who will revoke.
type look struct {
	epoch, renewed int64
	events         int // of the lease, that the ghost had seen
}

// answer is what a move's caller was told.
type answer struct {
	code    string // of a refusal; "" for success
	grant   Grant
	receipt Receipt
}

func answered(err error) answer {
	if err == nil {
		return answer{}
	}
	var refusal *domain.Error
	if errors.As(err, &refusal) {
		return answer{code: refusal.Code}
	}
	return answer{code: "internal"}
}

// moves gives what may happen next.
func (m *model) moves(s *scene) (all []move) {
	all = append(all, move{kind: ticks}, move{kind: appendsHosted, by: hosted})
	if m.stepsBack && !s.clock.Before(s.world.head.LastAt) {
		all = append(all, move{kind: stepsBack})
	}
	if m.has(forgetsLock) {
		all = append(all, move{kind: pauses})
	}
	for i, request := range m.requests {
		all = append(all, move{kind: acquires, by: request.by, request: i})
	}
	for _, by := range []node{nodeA, nodeB} {
		for i, lease := range s.leases[by] {
			if lease.Epoch == 0 {
				continue
			}
			for _, kind := range []moveKind{activates, activatesWrong, renews, handsBack, handsOn, appends, appendsOnce} {
				if kind != appendsOnce || !m.noIDs {
					all = append(all, move{kind: kind, by: by, lease: i})
				}
			}
		}
		if m.impostor {
			all = append(all, move{kind: impersonates, by: by})
		}
	}
	if m.revokes {
		all = append(all, move{kind: looks})
		if s.look != nil {
			all = append(all, move{kind: revokes})
		}
	}
	return all
}

// make makes a move on the bench, and gives the scene behind it.
func (m *model) make(b *bench, from *scene, by move) (to scene, got answer) {
	to = *from
	b.faults, b.doing, b.clock, b.world, b.entries, b.broke = m.faults, by.kind, from.clock, from.world, nil, nil
	switch by.kind {
	case ticks:
		to.clock = to.clock.Add(tick)
	case stepsBack:
		to.clock = to.clock.Add(-tick)
	case looks:
		to.look = &look{from.world.head.Epoch, from.world.head.RenewedPosition, from.ghost.events}
	case pauses:
		to.paused = &from.world
	default:
		got = m.send(b, from, by)
		to.world = b.world
		if by.kind == acquires && got.code == "" {
			to.tell(by, got.grant, &from.ghost, b.entries)
		}
	}
	return to, got
}

// send makes one request of the service.
func (m *model) send(b *bench, from *scene, by move) (got answer) {
	ctx := context.Background()
	scope, world := b.scope(by.by), b.ref.id
	lease := from.leases[by.by][by.lease]
	a := lease.Authority
	if by.kind == impersonates {
		a = Authority{Epoch: from.world.head.Epoch}
	}
	scope, a = b.disguise(scope, a)
	var err error
	switch by.kind {
	case acquires:
		request := m.requests[by.request]
		req := Acquire{RequestID: request.id, Term: modelTerm, Replay: modelTerm + tick, Takeover: request.takeover}
		got.grant, err = b.tryAcquire(ctx, scope, actorOf(scope), b.ref, req, request.waits)
	case activates, activatesWrong:
		hash := lease.hash
		if by.kind == activatesWrong && !b.has(forgetsReplay) {
			hash = lease.otherHash
		}
		_, err = b.Activate(ctx, scope, world, a, lease.handoff, hash)
	case renews:
		_, err = b.Renew(ctx, scope, world, a)
	case handsBack:
		_, err = b.HandOff(ctx, scope, world, a, ToCoordinator)
	case handsOn:
		_, err = b.HandOff(ctx, scope, world, a, ToNext)
	case revokes:
		req := Revoke{from.look.epoch, from.look.renewed, "it hangs"}
		if b.has(forgetsRenewal) {
			req.RenewedPosition = b.world.head.RenewedPosition
		}
		if b.has(forgetsLook) {
			req.Epoch, req.RenewedPosition = b.world.head.Epoch, b.world.head.RenewedPosition
		}
		_, err = b.Revoke(ctx, operator(), b.tenant, world, req)
	default:
		if b.has(forgetsLock) && from.paused != nil {
			b.world = *from.paused
		}
		req := Append{Entries: []AppendEntry{{Payload: []byte("payload")}}}
		authority := &a
		switch by.kind {
		case appendsOnce:
			req.Entries[0].ID = "once"
		case appendsHosted:
			authority = nil
		}
		got.receipt, err = b.Append(ctx, scope, world, authority, req)
	}
	refused := answered(err)
	got.code = refused.code
	return got
}

// tell lets a node know its lease, and forget all but the one before.
func (s *scene) tell(by move, grant Grant, before *ghost, entries []journal.Entry) {
	leases := &s.leases[by.by]
	if leases[0].Secret == grant.Secret {
		return
	}
	t := told{Authority: Authority{grant.Epoch, grant.Secret}, request: by.request, handoff: grant.HandoffPosition}
	t.hash, t.otherHash = before.handoffHash, before.beforeHandoff
	for i, e := range entries {
		if e.Position != grant.HandoffPosition {
			continue
		}
		t.hash, t.otherHash = e.Hash, before.replayed.Hash
		if i > 0 {
			t.otherHash = entries[i-1].Hash
		}
	}
	leases[1] = leases[0]
	leases[0] = t
}

func (s *scene) String() string {
	return fmt.Sprintf("epoch %d, held by %v, activated %v, ends in %v", s.world.head.Epoch, s.world.head.Holder, s.world.head.Activated,
		s.world.head.ExpiresAt.Sub(s.clock))
}
