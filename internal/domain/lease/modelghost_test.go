package lease

import (
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
)

// rule is a promise of the lease.
type rule string

const (
	oneWriter  rule = "at most one writer can be accepted at any position"
	inForce    rule = "no entry is accepted outside the lease in force"
	byOne      rule = "the epoch grows by one exactly with a change of the writer"
	asReplayed rule = "the head is what the journal comes to"
	sound      rule = "no decision breaks the journal's rules"
	fromLook   rule = "a revocation from an old look does nothing"
	sameLease  rule = "a repeated request gets the lease that it got, while that stands, and nobody else does"
	proven     rule = "a lease is activated by who has replayed through its handoff"
	term       rule = "a renewal never shortens, never revives, and goes no further than a term or the activation's deadline"
	onceOnly   rule = "an entry id is one entry, and one receipt"
	counted    rule = "each refused append is told of or counted, once"
	seldom     rule = "one principal's refusals are journaled at once, and then every ten seconds at most"
	inTurn     rule = "the line is served in its order, without those that have gone"
)

// ghost follows one journal by a few lines of its own.
type ghost struct {
	replayed journal.State // every entry applied, from the first on

	writer    node // nobody for the coordinator
	epoch     int64
	activated bool
	until     time.Time // the writer's; zero for the coordinator's
	deadline  time.Time // of the activation

	handoffHash   journal.Hash // of the last handoff
	beforeHandoff journal.Hash // of the entry in front of it
	events        int          // grants, handoffs, revocations and renewals
	secrets       map[string]issued
	once          int64 // position of the entry with the id; 0 for none
	refused, told int64 // appends
	toldAt        [nodeCount]time.Time
	line          []standing
}

// issued is to whom a secret was told, and for which request.
type issued struct {
	to      node
	request int
	epoch   int64
}

// standing is a place in line.
type standing struct {
	request int
	until   time.Time
}

// judge takes in a move and gives the first rule that it broke.
func (g *ghost) judge(m *model, b *bench, from *scene, by move, got answer) (broken rule, wrong string) {
	now := later(from.clock, from.ghost.replayed.LastAt)
	before := from.ghost
	if b.broke != nil {
		return sound, b.broke.Error()
	}
	g.settleLine(now)
	ended := before.writer != nobody && !now.Before(before.until)
	for i := range b.entries {
		if broken, wrong = g.follow(m, b, &b.entries[i], from, by, now); wrong != "" {
			return broken, wrong
		}
	}
	if g.replayed != b.world.head.State {
		return asReplayed, fmt.Sprintf("the head is %+v, and not %+v", b.world.head.State, g.replayed)
	}
	if broken, wrong = g.judgeAnswer(&before, ended, by, got); wrong != "" {
		return broken, wrong
	}
	return g.judgeCounts(b, by, got)
}

// follow takes in one entry: by its own lines first, and then as it is replayed.
func (g *ghost) follow(m *model, b *bench, e *journal.Entry, from *scene, by move, now time.Time) (rule, string) {
	if broken, wrong := g.take(m, b, e, from, by, now); wrong != "" {
		return broken, wrong
	}
	if err := g.replayed.Apply(*e); err != nil {
		return asReplayed, err.Error()
	}
	return "", ""
}

func (g *ghost) take(m *model, b *bench, e *journal.Entry, from *scene, by move, now time.Time) (rule, string) {
	if grown := e.Epoch - g.epoch; grown != 0 && grown != 1 {
		return byOne, fmt.Sprintf("from epoch %d to %d", g.epoch, e.Epoch)
	}
	changes := e.Kind == journal.KindLeaseHandedOff || e.Kind == journal.KindLeaseGranted
	if changes != (e.Epoch != g.epoch) {
		return byOne, fmt.Sprintf("%s moves epoch %d to %d", e.Kind, g.epoch, e.Epoch)
	}
	g.epoch = e.Epoch
	switch e.Kind {
	case journal.KindEntry:
		return g.acceptEntry(e, from, by, now)
	case journal.KindLeaseGranted:
		g.install(nobody, time.Time{}, time.Time{})
	case journal.KindLeaseHandedOff:
		d, _ := journal.DetailsOf[journal.HandedOff](e)
		next := b.nodeOf(d.To)
		g.handoffHash, g.beforeHandoff = e.Hash, g.replayed.Hash
		if wrong := g.serve(m, by, next); wrong != "" {
			return inTurn, wrong
		}
		g.install(next, time.Time(d.ExpiresAt), time.Time(d.ActivateBy))
	case journal.KindLeaseRenewed:
		d, _ := journal.DetailsOf[journal.Renewed](e)
		g.events++
		return g.prolong(time.Time(d.ExpiresAt), now)
	case journal.KindLeaseActivated:
		g.activated = true
		if by.kind != activates {
			return proven, "it was activated by " + by.String()
		}
	case journal.KindLeaseRevoked:
		g.events++
		d, _ := journal.DetailsOf[journal.Revoked](e)
		if d.Reason != journal.ReasonExpiry && (by.kind != revokes || from.look.events != from.ghost.events) {
			return fromLook, fmt.Sprintf("%d changes later it ended epoch %d", from.ghost.events-from.look.events, d.Epoch)
		}
	case journal.KindAppendRejected:
		d, _ := journal.DetailsOf[journal.Rejected](e)
		n := b.nodeOf(d.Holder)
		if since := now.Sub(g.toldAt[n]); since < coalesce {
			return seldom, fmt.Sprintf("those of %v, %v after the last", n, since)
		}
		g.told += d.Count
		g.toldAt[n] = now
	}
	return "", ""
}

func (g *ghost) install(writer node, until, deadline time.Time) {
	g.writer, g.until, g.deadline, g.activated = writer, until, deadline, writer == nobody
	g.events++
}

// acceptEntry judges a tenant's entry by who sent it, whatever its actor is called.
func (g *ghost) acceptEntry(e *journal.Entry, from *scene, by move, now time.Time) (rule, string) {
	if e.EntryID != "" {
		if g.once != 0 {
			return onceOnly, fmt.Sprintf("%q is at %d and at %d", e.EntryID, g.once, e.Position)
		}
		g.once = e.Position
	}
	if by.kind == appendsHosted {
		if g.writer != nobody {
			return inForce, fmt.Sprintf("a hosted write was accepted while %v holds", g.writer)
		}
		return "", ""
	}
	lease := from.leases[by.by][by.lease]
	switch told := g.secrets[lease.Secret]; {
	case by.kind == impersonates:
		return inForce, "a process was accepted that was told no secret"
	case told.to != by.by || g.writer != by.by || told.epoch != g.epoch:
		return inForce, fmt.Sprintf("%v was accepted with epoch %d, and the writer of epoch %d is %v", by.by, told.epoch, g.epoch, g.writer)
	case !g.activated:
		return inForce, fmt.Sprintf("%v was accepted before its activation", by.by)
	case !now.Before(g.until):
		return inForce, fmt.Sprintf("%v was accepted %v behind its lease's end", by.by, now.Sub(g.until))
	}
	return "", ""
}

func (g *ghost) prolong(until, now time.Time) (rule, string) {
	most := now.Add(modelTerm)
	if !g.activated && g.deadline.Before(most) {
		most = g.deadline
	}
	if until.Before(g.until) || until.After(most) || !now.Before(g.until) {
		return term, fmt.Sprintf("at %v from %v to %v, of at most %v", now, g.until, until, most)
	}
	g.until = until
	return "", ""
}
