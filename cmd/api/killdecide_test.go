package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// decided is an answer to a decision.
type decided struct {
	decision *decision
	device   *holdfast.Device // nil after a revocation
	err      error
}

// decide approves or denies a device, or lets two requests do so at once.
func (p *app) decide(t *testing.T, d *device) {
	a := p.own((*account).quiet)
	if a == nil {
		return
	}
	b := p.own(func(b *account) bool { return b.quiet() && b != a })
	switch p.rng.IntN(8) {
	case 0:
		p.decideOnce(t, d, denying, a)
	case 1:
		p.decideTwice(t, d, a, denying, a)
	case 2:
		if b != nil {
			p.decideTwice(t, d, a, approving, b)
		}
	case 3:
		p.approveAndDelete(t, d, a)
	default:
		p.decideOnce(t, d, approving, a)
	}
}

func (p *app) decideOnce(t *testing.T, d *device, what deciding, by *account) {
	p.hearDecision(t, d, p.askDecision(t, d, d.begin(what, by)))
}

// decideTwice approves a device for an account, and at the same time decides
// otherwise: at most one comes true.
func (p *app) decideTwice(t *testing.T, d *device, a *account, what deciding, by *account) {
	one, other := d.begin(approving, a), d.begin(what, by)
	var r1, r2 decided
	side(func() { r1 = p.askDecision(t, d, one) }, func() { r2 = p.askDecision(t, d, other) })
	if r1.err == nil && r2.err == nil {
		p.fault(t, d, "it was approved for %s, and at the same time %s by %s", a.id, what, by.id)
	}
	if r1.err != nil {
		r1, r2 = r2, r1
	}
	p.hearDecision(t, d, r1)
	p.hearDecision(t, d, r2)
}

// approveAndDelete deletes an account while a device is approved for it: the
// device gets nothing.
func (p *app) approveAndDelete(t *testing.T, d *device, a *account) {
	o, c := d.begin(approving, a), a.begin(p.ledger, deletion(a))
	var r decided
	var h heard
	side(func() { r = p.askDecision(t, d, o) }, func() { h = p.ask(t, a, c) })
	p.hearDecision(t, d, r)
	p.hear(t, a, h)
}

func (p *app) askDecision(t *testing.T, d *device, o *decision) (r decided) {
	r.decision = o
	guess := holdfast.CodeGuess{UserCode: d.userCode, AccountID: o.by.id}
	if o.what == denying {
		answer, err := p.client.DenyDeviceWithResponse(t.Context(), guess)
		if r.err = err; err == nil {
			r.device = answer.JSON200
		}
	} else {
		answer, err := p.client.ApproveDeviceWithResponse(t.Context(), guess)
		if r.err = err; err == nil {
			r.device = answer.JSON200
		}
	}
	d.note("%s for %s: %v", o.what, o.by.id, told(r.err))
	return r
}

func (p *app) hearDecision(t *testing.T, d *device, r decided) {
	o := r.decision
	switch {
	case r.err == nil:
		p.hearDecided(t, d, r)
	case leavesOpen(r.err):
		o.lost = true
	case mayRetry(r.err):
		d.again = later(r.err)
	case holdfast.IsCode(r.err, "user_code_guesses_exceeded"):
		d.again = time.Now().Add(time.Second)
	case holdfast.IsCode(r.err, "device_decided"):
		other := o.what == approving && (d.mayBe(denying) || d.approvedForAnother(o.by)) || o.what == denying && d.mayBe(approving)
		if !other && !d.mayBe(revoking) && !d.orphaned() {
			p.fault(t, d, "%s was refused as decided, and nobody can have decided", o.what)
		}
		d.drop(o)
	case holdfast.IsCode(r.err, "account_disabled") && !o.by.surelyActive():
		if !o.lost {
			d.drop(o)
		}
		d.again = time.Now().Add(time.Second)
	case holdfast.IsCode(r.err, "account_not_found") && (o.by.told.deleted || o.by.opens(deleting)):
		d.disowned = true
	case holdfast.IsCode(r.err, "revision_stale") && o.what == labeling && o.lost:
		switch read := p.readDevice(t, d); {
		case read != nil || !d.opens(labeling):
		case d.orphaned():
			d.disowned = true // Holdfast has ended it
		default:
			p.fault(t, d, "it is not at %d any more, and nothing has changed it", o.base)
		}
	case o.by == nil && d.orphaned() && (holdfast.IsCode(r.err, "revision_stale") || holdfast.IsCode(r.err, "device_not_found")):
		d.disowned = true // Holdfast has ended it
	default:
		p.fault(t, d, "%s got %v", o.what, r.err)
		d.drop(o)
	}
}

// approvedForAnother tells whether the device was approved for another account,
// or may have been.
func (d *device) approvedForAnother(a *account) bool {
	for _, o := range d.open {
		if o.what == approving && o.by != a {
			return true
		}
	}
	return d.told.account != "" && d.told.account != a.id
}

// hearDecided takes in that a decision was made.
func (p *app) hearDecided(t *testing.T, d *device, r decided) {
	o := r.decision
	switch {
	case o.what == revoking && d.orphaned():
		d.disowned = true // Holdfast may have been faster, or has removed it
		return
	case o.what == revoking:
		now := d.told
		o.apply(&now)
		p.seeDevice(t, d, now)
		p.ledger.acknowledge(d.id, now.revision, kinds[revoking])
		return
	}
	now := deviceFactsOf(r.device)
	if !o.shown(now) || o.what == approving && o.by.told.deleted {
		p.fault(t, d, "%s from %d was answered with %+v", o.what, o.base, r.device)
	}
	p.seeDevice(t, d, now)
	if now.revision == o.base+1 {
		p.ledger.acknowledge(d.id, now.revision, kinds[o.what])
	}
}

// decideAt asks for what takes a device's revision: another label, or its end.
func (p *app) decideAt(t *testing.T, d *device, o *decision) {
	o.base = d.told.revision
	d.open = append(d.open, o)
	p.hearDecision(t, d, p.askAt(t, d, o))
}

func (p *app) askAt(t *testing.T, d *device, o *decision) decided {
	r := decided{decision: o}
	match := fmt.Sprintf("%q", fmt.Sprint(o.base))
	if o.what == revoking {
		_, r.err = p.client.RevokeDeviceWithResponse(t.Context(), d.id, &holdfast.RevokeDeviceParams{IfMatch: &match})
	} else {
		answer, err := p.client.PatchDeviceWithResponse(t.Context(), d.id, &holdfast.PatchDeviceParams{IfMatch: &match},
			holdfast.DevicePatch{Label: nullable.NewNullableWithValue(o.to)})
		if r.err = err; err == nil {
			r.device = answer.JSON200
		}
	}
	d.note("%s %s from %d: %v", o.what, o.to, o.base, told(r.err))
	return r
}
