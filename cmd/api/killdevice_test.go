package main

import (
	"fmt"
	"slices"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// device is what its application knows of one: nobody else decides about it.
type device struct {
	journal
	label    string
	key      string // Idempotency-Key of its creation; "" for one that began its flow by itself
	tries    int    // of the creation
	outcome  outcome
	imported bool // without codes

	id, userCode, deviceCode string
	told                     deviceFacts
	open                     []*decision
	owner                    *account // whom it was approved for, for sure
	redeemed                 int      // polls that earned tokens
	refresh                  string   // its last token, if that is known
	spent                    string   // one before that
	lostRefresh              bool     // an answer to refresh was lost: it may be spent too
	forgotten                bool     // nobody approves it, and its code is said to be over
	disowned                 bool     // its approval met the deletion of its account
	again                    time.Time
}

// deviceFacts are the parts of a device that change.
type deviceFacts struct {
	revision                  int64
	label                     string
	account                   string // that it was approved for
	denied, redeemed, revoked bool
}

func deviceFactsOf(got *holdfast.Device) deviceFacts {
	f := deviceFacts{revision: got.Revision, denied: got.Status == "denied", redeemed: got.RedeemedAt != nil, revoked: got.Status == "revoked"}
	if got.Label != nil {
		f.label = *got.Label
	}
	if got.AccountID != nil {
		f.account = *got.AccountID
	}
	return f
}

// decision is one change of a device that was asked for.
type decision struct {
	what deciding
	by   *account // who approves or denies
	to   string   // the label
	base int64    // the revision that it was asked for at
	lost bool     // an answer was
}

type deciding string

const (
	approving deciding = "approve"
	denying   deciding = "deny"
	redeeming deciding = "redeem"
	labeling  deciding = "label"
	revoking  deciding = "revoke"
)

// kinds are the decisions' events.
var kinds = map[deciding]string{
	approving: "device.approved", denying: "device.denied", redeeming: "device.redeemed",
	labeling: "device.changed", revoking: "device.revoked",
}

func (d *decision) shown(f deviceFacts) bool {
	switch d.what {
	case approving:
		return f.account == d.by.id
	case denying:
		return f.denied
	case redeeming:
		return f.redeemed
	case labeling:
		return f.label == d.to
	default:
		return f.revoked
	}
}

func (d *decision) apply(f *deviceFacts) {
	f.revision++
	switch d.what {
	case approving:
		f.account = d.by.id
	case denying:
		f.denied = true
	case redeeming:
		f.redeemed = true
	case labeling:
		f.label = d.to
	default:
		f.revoked, f.denied = true, false // it is not told any more that it was denied
	}
}

// see holds what was read of the device to what is known, as an account's see.
func (d *device) see(l *ledger, got deviceFacts) (wrong string) {
	want := d.told
	var shown, open []*decision
	for _, o := range d.open {
		if o.shown(got) {
			o.apply(&want)
			shown = append(shown, o)
		} else {
			open = append(open, o)
		}
	}
	if want != got && !d.orphaned() {
		return fmt.Sprintf("it is %+v, and was acknowledged as %+v, with %d decisions open, of which %d show", got, d.told, len(d.open), len(shown))
	}
	d.told, d.open = got, open
	for _, o := range shown {
		if o.what == approving {
			d.owner = o.by
		}
	}
	l.acknowledge(d.id, got.revision, "")
	return ""
}

// orphaned tells whether the account of the device is gone, or may be: Holdfast
// then revokes the device by itself, or removes it.
func (d *device) orphaned() bool {
	gone := func(a *account) bool { return a != nil && (a.told.deleted || a.opens(deleting)) }
	return d.disowned || gone(d.owner) || slices.ContainsFunc(d.open, func(o *decision) bool { return o.what == approving && gone(o.by) })
}

func (d *device) opens(what deciding) bool {
	return slices.ContainsFunc(d.open, func(o *decision) bool { return o.what == what })
}

// stands tells whether the device is there for sure, and can come to something.
func (d *device) stands() bool {
	return d.outcome == made && !d.forgotten && !d.disowned && !d.told.revoked
}

func (d *device) quiet() bool { return d.stands() && len(d.open) == 0 && time.Now().After(d.again) }

func (d *device) pending() bool { return d.quiet() && d.told.account == "" && !d.told.denied }

// fetchable tells whether it waits for its first tokens.
func (d *device) fetchable() bool {
	return d.quiet() && d.told.account != "" && !d.told.redeemed && !d.imported
}

func (d *device) unsettled() bool {
	return (d.outcome == unknown && d.key != "" || d.stands() && len(d.open) > 0) && time.Now().After(d.again)
}

// mayBeBarred tells whether its account may keep it from getting anything.
func (d *device) mayBeBarred() bool {
	return d.disowned || d.owner != nil && !d.owner.surelyActive() ||
		slices.ContainsFunc(d.open, func(o *decision) bool { return o.what == approving && !o.by.surelyActive() })
}

// mayBe tells whether the device has a decision behind it, or may have.
func (d *device) mayBe(what deciding) bool {
	f := d.told
	done := map[deciding]bool{approving: f.account != "", denying: f.denied, redeeming: f.redeemed, revoking: f.revoked}
	return done[what] || d.opens(what)
}

// begin notes that a decision is asked for.
func (d *device) begin(what deciding, by *account) *decision {
	o := &decision{what: what, by: by, base: d.told.revision}
	d.open = append(d.open, o)
	return o
}

func (d *device) drop(o *decision) {
	d.open = slices.DeleteFunc(d.open, func(other *decision) bool { return other == o })
}
