package lease

import (
	"fmt"
	"maps"
	"time"
)

// judgeAnswer judges what a caller was told.
func (g *ghost) judgeAnswer(before *ghost, ended bool, by move, got answer) (rule, string) {
	if got.code != "" {
		return "", ""
	}
	switch by.kind {
	case acquires:
		was, known := g.secrets[got.grant.Secret]
		now := issued{by.by, by.request, got.grant.Epoch}
		switch {
		case g.writer != by.by || g.epoch != got.grant.Epoch:
			return sameLease, fmt.Sprintf("%v was told epoch %d, and %v has %d", by.by, got.grant.Epoch, g.writer, g.epoch)
		case known && was != now:
			return sameLease, fmt.Sprintf("%+v was told the lease of %+v", now, was)
		case !known && !ended && before.has(by.by, by.request):
			return sameLease, fmt.Sprintf("%v got another lease for its request, at epoch %d", by.by, got.grant.Epoch)
		}
		g.secrets = maps.Clone(g.secrets)
		g.secrets[got.grant.Secret] = now
	case appendsOnce:
		if at := got.receipt.Positions[0]; at != g.once || got.receipt.Replayed != (before.once != 0) {
			return onceOnly, fmt.Sprintf("the receipt is %+v, and the entry at %d", got.receipt, g.once)
		}
	}
	return "", ""
}

// has tells whether a request got the lease in force.
func (g *ghost) has(n node, request int) bool {
	for _, to := range g.secrets {
		if to.to == n && to.request == request && to.epoch == g.epoch && g.writer == n {
			return true
		}
	}
	return false
}

// fencing are the codes of refusals that are evidence.
var fencing = map[string]bool{"fenced": true, "lease_expired": true, "lease_not_activated": true}

func (g *ghost) judgeCounts(b *bench, by move, got answer) (rule, string) {
	if by.kind >= appends && by.kind <= impersonates && fencing[got.code] {
		g.refused++
	}
	pending := int64(0)
	for _, r := range b.world.rejections {
		pending += r.pending
	}
	if g.told+pending != g.refused {
		return counted, fmt.Sprintf("%d were refused, %d are told of and %d counted", g.refused, g.told, pending)
	}
	return "", ""
}

// settleLine lets those go that have not been heard of.
func (g *ghost) settleLine(now time.Time) {
	var line []standing
	for _, s := range g.line {
		if now.Before(s.until) {
			line = append(line, s)
		}
	}
	g.line = line
}

// serve judges to whom a lease was handed, and takes the receiver out of the line.
func (g *ghost) serve(m *model, by move, next node) string {
	first := -1
	if len(g.line) > 0 {
		first = g.line[0].request
	}
	switch {
	case by.kind == handsOn && (first < 0 || m.requests[first].by != next):
		return fmt.Sprintf("it was handed to %v past request %d", next, first)
	case by.kind == acquires && g.writer == nobody && first >= 0 && first != by.request:
		return fmt.Sprintf("%v got it past request %d", next, first)
	}
	if by.kind == handsOn {
		g.line = g.line[1:]
	}
	return ""
}

// stand keeps the line as acquiring does.
func (g *ghost) stand(m *model, by move, got answer, now time.Time) {
	waits := m.requests[by.request].waits && (got.code == "lease_held" || got.code == "lease_awaited")
	var line []standing
	stands := false
	for _, s := range g.line {
		switch {
		case s.request != by.request:
			line = append(line, s)
		case waits:
			line, stands = append(line, standing{by.request, now.Add(waitsFor)}), true
		}
	}
	if waits && !stands {
		line = append(line, standing{by.request, now.Add(waitsFor)})
	}
	g.line = line
}
