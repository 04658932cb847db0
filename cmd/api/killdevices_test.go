package main

import (
	"fmt"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// createDevice makes a device for a screen that asked the application.
func (p *app) createDevice(t *testing.T) {
	n := p.wishes.Add(1)
	d := &device{label: fmt.Sprintf("screen %d", n), key: fmt.Sprintf("device-%d", n)}
	p.devices = append(p.devices, d)
	p.makeDevice(t, d)
}

func (p *app) makeDevice(t *testing.T, d *device) {
	d.tries++
	answer, err := p.client.CreateDeviceWithResponse(t.Context(), &holdfast.CreateDeviceParams{IdempotencyKey: &d.key},
		holdfast.NewDevice{Label: &d.label, ClientID: &p.tv})
	d.note("create: %v", told(err))
	switch {
	case err == nil:
		got := answer.JSON201
		if got.Status != "pending" || got.Revision != 1 || got.UserCode == nil || got.DeviceCode == nil || *got.Label != d.label {
			p.fault(t, d, "it was made as %+v", got)
			return
		}
		d.outcome, d.id, d.userCode, d.deviceCode = made, got.ID, *got.UserCode, *got.DeviceCode
		d.told = deviceFacts{revision: 1, label: d.label}
		p.ledger.acknowledge(d.id, 1, "device.created")
	case leavesOpen(err) || mayRetry(err):
		d.outcome, d.again = unknown, later(err)
	default:
		d.outcome = refused
		p.fault(t, d, "its creation got %v", err)
	}
}

// authorizeDevice begins a device flow as the device does, and finds the device by
// its code, as a page does that its user comes to. A flow whose beginning isn't
// answered is nobody's.
func (p *app) authorizeDevice(t *testing.T) {
	d := &device{label: fmt.Sprintf("screen %d", p.wishes.Add(1))}
	answer, err := p.public.AuthorizeDeviceWithFormdataBodyWithResponse(t.Context(), holdfast.DeviceAuthorizationRequest{ClientID: p.tv, Label: &d.label})
	switch {
	case err != nil:
		return
	case answer.JSON200 == nil:
		if answer.StatusCode() != 503 {
			p.fault(t, d, "its authorization got %d %s", answer.StatusCode(), answer.Body)
		}
		return
	}
	d.userCode, d.deviceCode = answer.JSON200.UserCode, answer.JSON200.DeviceCode
	d.note("authorize")
	a := p.own(func(a *account) bool { return a.quiet() && !a.told.disabled })
	if a == nil {
		return
	}
	shown, err := p.client.LookupDeviceCodeWithResponse(t.Context(), holdfast.CodeGuess{UserCode: d.userCode, AccountID: a.id})
	d.note("look its code up for %s: %v", a.id, told(err))
	switch {
	case err == nil && shown.JSON200.Label != nil && *shown.JSON200.Label == d.label && shown.JSON200.Status == "pending":
		d.outcome, d.id, d.told = made, shown.JSON200.ID, deviceFacts{revision: 1, label: d.label}
		p.ledger.acknowledge(d.id, 1, "device.created")
		p.devices = append(p.devices, d)
	case err == nil || !unanswered(err) && !mayRetry(err) && !holdfast.IsCode(err, "user_code_guesses_exceeded"):
		p.fault(t, d, "looking its code up got %v", err)
	}
}

// useDevice does what comes next with a device, or something that must be refused.
func (p *app) useDevice(t *testing.T) {
	stage := []func(*device) bool{(*device).pending, (*device).fetchable, (*device).quiet}[p.rng.IntN(3)]
	d := pick(p.rng, p.devices, stage)
	if d == nil {
		if d = pick(p.rng, p.devices, (*device).quiet); d == nil {
			p.createDevice(t)
			return
		}
	}
	switch {
	case d.pending() && p.rng.IntN(10) == 0:
		d.forgotten = true
		d.note("it is forgotten")
		p.aging.forget(d)
	case d.pending() && p.rng.IntN(4) == 0:
		p.poll(t, d)
	case d.pending():
		p.decide(t, d)
	case d.fetchable():
		p.redeem(t, d)
	case d.refresh != "" && p.rng.IntN(3) > 0:
		p.turnToken(t, d, p.rng.IntN(5) == 0)
	default:
		p.refuseOrRevoke(t, d)
	}
}

// refuseOrRevoke asks for what a device can't have, or ends it.
func (p *app) refuseOrRevoke(t *testing.T, d *device) {
	switch {
	case p.rng.IntN(3) == 0 && d.refresh != "":
		p.revokeToken(t, d)
	case p.rng.IntN(4) == 0:
		p.decideAt(t, d, &decision{what: revoking})
	case p.rng.IntN(3) == 0:
		p.decideAt(t, d, &decision{what: labeling, to: fmt.Sprintf("screen %d", p.wishes.Add(1))})
	case d.imported:
		p.readDevice(t, d)
	default:
		p.poll(t, d)
	}
}

// settleDevice goes on with a device of which not all is known, if there is one.
func (p *app) settleDevice(t *testing.T) bool {
	d := pick(p.rng, p.devices, (*device).unsettled)
	switch {
	case d == nil:
		return false
	case d.outcome == unknown:
		p.makeDevice(t, d)
	case p.rng.IntN(3) == 0:
		p.readDevice(t, d)
	default:
		p.again(t, d, d.open[p.rng.IntN(len(d.open))])
	}
	return true
}

// again asks for a decision once more.
func (p *app) again(t *testing.T, d *device, o *decision) {
	switch o.what {
	case redeeming:
		p.poll(t, d)
	case labeling, revoking:
		p.hearDecision(t, d, p.askAt(t, d, o))
	default:
		p.hearDecision(t, d, p.askDecision(t, d, o))
	}
}

// readDevice finds out what a device is.
func (p *app) readDevice(t *testing.T, d *device) error {
	answer, err := p.client.GetDeviceWithResponse(t.Context(), d.id)
	d.note("read: %v", told(err))
	switch {
	case err == nil:
		p.seeDevice(t, d, deviceFactsOf(answer.JSON200))
	case holdfast.IsCode(err, "device_not_found") && (d.forgotten || d.orphaned()):
		d.outcome = refused // the cleanup has removed it
		return nil
	case !unanswered(err) && !mayRetry(err):
		p.fault(t, d, "reading it got %v", err)
	}
	return err
}

func (p *app) seeDevice(t *testing.T, d *device, got deviceFacts) {
	if wrong := d.see(p.ledger, got); wrong != "" {
		p.fault(t, d, "%s", wrong)
	}
}

// listDevices holds an account's list to the devices that it has for sure.
func (p *app) listDevices(t *testing.T) {
	a := p.own((*account).stays)
	if a == nil {
		return
	}
	listed := map[string]holdfast.Device{}
	params := &holdfast.ListAccountDevicesParams{Limit: ptr(int64(2))}
	for {
		page, err := p.client.ListAccountDevicesWithResponse(t.Context(), a.id, params)
		if err != nil {
			if !unanswered(err) && !mayRetry(err) {
				p.fault(t, a, "listing its devices got %v", err)
			}
			return
		}
		for _, d := range page.JSON200.Devices {
			if d.AccountID == nil || *d.AccountID != a.id {
				p.fault(t, a, "its devices have one of another's: %+v", d)
			}
			if _, twice := listed[d.ID]; twice {
				p.fault(t, a, "its devices have one twice: %+v", d)
			}
			listed[d.ID] = d
		}
		if params.Cursor = page.JSON200.NextCursor; params.Cursor == nil {
			break
		}
	}
	for _, d := range p.devices {
		got, found := listed[d.id]
		if d.outcome == made && d.owner == a && len(d.open) == 0 && (!found || deviceFactsOf(&got) != d.told) {
			p.fault(t, d, "it is %s's, as %+v, and in the list of its devices it is %+v", a.id, d.told, got)
		}
	}
}
