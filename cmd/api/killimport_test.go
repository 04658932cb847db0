package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// file is a small import, with lines that are there twice and lines that can't
// all come true. It is sent until each line has a last word, and sometimes again.
type file struct {
	journal
	lines []*fileLine
	asked bool // and not all of it was answered
	tries int
}

// fileLine is a line and what it may come to.
type fileLine struct {
	body    holdfast.ImportLine
	account *account // that it makes; nil for a device's, and for one that must fail
	device  *device
	first   *fileLine // the line that this one repeats or contradicts
	fails   []string  // codes that it may fail with; one that makes nothing does
}

func (p *app) importFile(t *testing.T) {
	if f := pick(p.rng, p.files, func(f *file) bool { return !f.asked }); f != nil && p.rng.IntN(4) == 0 {
		p.send(t, f)
		return
	}
	f := p.newFile()
	p.files = append(p.files, f)
	for _, l := range f.lines {
		if l.account != nil {
			l.account.expect(p.ledger)
			p.accounts = append(p.accounts, l.account)
		}
		if l.device != nil {
			p.devices = append(p.devices, l.device)
		}
	}
	p.send(t, f)
}

// newFile has an account that nothing stands in the way of, all that can be wrong
// with lines beside it, two accounts that want one address which others want too,
// and their devices.
func (p *app) newFile() *file {
	n := p.wishes.Add(1)
	own := p.importedAccount(n, "own", fmt.Sprintf("own-%d@example.com", n))
	contested := wildEmail(p.rng)
	one, other := p.importedAccount(n, "one", contested), p.importedAccount(n, "other", contested)
	one.fails, other.fails = []string{"email_taken"}, []string{"email_taken"}
	again := func(l *fileLine, key, handle string, email *string, code string) *fileLine {
		body := *l.body.Account
		body.Handle, body.Email = handle, email
		return &fileLine{body: holdfast.ImportLine{Key: key, Account: &body}, first: l, fails: []string{code}}
	}
	return &file{lines: []*fileLine{
		own,
		{body: own.body, first: own},
		again(own, own.body.Key, "changed-"+own.body.Account.Handle, own.body.Account.Email, "idempotency_key_reused"),
		again(own, own.body.Key+"-email", "rival-"+own.body.Account.Handle, own.body.Account.Email, "email_taken"),
		again(own, own.body.Key+"-handle", strings.ToUpper(own.body.Account.Handle), nil, "handle_taken"),
		p.importedDevice(n, own),
		one,
		other,
		p.importedDevice(n, one),
	}}
}

func (p *app) importedAccount(n int64, kind, email string) *fileLine {
	a := &account{imported: true, wish: holdfast.NewAccount{
		Handle:        fmt.Sprintf("import-%d-%s", n, kind),
		Email:         &email,
		EmailVerified: ptr(true),
		DisplayName:   ptr(fmt.Sprintf("import %d %s", n, kind)),
		Attributes:    withMark("new"),
	}}
	body := holdfast.ImportAccount{Handle: a.wish.Handle, Email: a.wish.Email, DisplayName: a.wish.DisplayName, Attributes: a.wish.Attributes}
	return &fileLine{account: a, body: holdfast.ImportLine{Key: fmt.Sprintf("%d-%s", n, kind), Account: &body}}
}

func (p *app) importedDevice(n int64, of *fileLine) *fileLine {
	d := &device{imported: true, label: fmt.Sprintf("screen of %s", of.body.Key)}
	body := holdfast.ImportDevice{AccountKey: &of.body.Key, Label: &d.label, Status: "approved"}
	return &fileLine{device: d, first: of, fails: []string{"account_not_found"}, body: holdfast.ImportLine{Key: fmt.Sprintf("%s-device", of.body.Key), Device: &body}}
}

// settleFile sends a file again of which not all was answered, if there is one.
func (p *app) settleFile(t *testing.T) bool {
	f := pick(p.rng, p.files, func(f *file) bool { return f.asked })
	if f != nil {
		p.send(t, f)
	}
	return f != nil
}

func (p *app) send(t *testing.T, f *file) {
	f.asked = true
	f.tries++
	lines := make([]holdfast.ImportLine, len(f.lines))
	for i, l := range f.lines {
		lines[i] = l.body
	}
	var results []holdfast.ImportResult
	final := true
	for r, err := range holdfast.Import(t.Context(), p.bulk, slices.Values(lines)) {
		if err != nil {
			f.note("send: %v", told(err))
			if !leavesOpen(err) && !mayRetry(err) {
				p.fault(t, f, "it got %v", err)
			}
			return
		}
		results = append(results, r)
		final = final && (r.Error == nil || r.Error.RetryAfter == nil)
	}
	if !final {
		f.note("some lines are to be sent again")
		return // and nobody touches what it has made before that is told
	}
	f.asked = false
	for i, l := range f.lines {
		p.hearLine(t, f, l, results[i])
	}
	f.lines = slices.DeleteFunc(f.lines, func(l *fileLine) bool { return !l.made() })
}

// hearLine takes in the result of one line.
func (p *app) hearLine(t *testing.T, f *file, l *fileLine, r holdfast.ImportResult) {
	code := ""
	if r.Error != nil {
		code = r.Error.Code
	}
	f.note("line %d: %s %s %s", r.Line, r.Result, orNone(r.ID), code)
	if j := l.journal(); j != nil {
		j.note("import: %s %s", r.Result, code)
	}
	var possible bool
	switch {
	case r.Result == "failed":
		possible = l.mayFail(code)
		p.failed(l)
	case l.account != nil && l.account.outcome == made:
		possible = r.Result == "exists" && *r.ID == l.account.id && !l.account.told.deleted
	case l.account != nil:
		possible = r.Result == "created" || f.tries > 1
		p.adopt(t, l.account, &holdfast.Account{ID: *r.ID, Revision: 1, Handle: l.account.wish.Handle, Email: l.account.wish.Email, Attributes: l.account.wish.Attributes})
	case l.device != nil:
		possible = p.hearDevice(l, r)
	case len(l.fails) == 0: // the same line once more
		possible = r.Result == "exists" && *r.ID == l.first.account.id
	}
	if !possible {
		p.fault(t, f, "line %d, of %s, came to %s %s %s", r.Line, l.body.Key, r.Result, orNone(r.ID), code)
	}
}

// failed is that a line made nothing, for good.
func (p *app) failed(l *fileLine) {
	if l.account != nil && l.account.outcome != made {
		p.forsake(l.account)
	}
	if l.device != nil && l.device.outcome != made {
		l.device.outcome = refused
	}
}

// made tells whether there is something that the line made, or would have.
func (l *fileLine) made() bool {
	switch {
	case l.account != nil:
		return l.account.outcome == made
	case l.device != nil:
		return l.device.outcome == made
	default:
		return len(l.fails) == 0
	}
}

// journal is the one of what the line makes, if it makes something.
func (l *fileLine) journal() *journal {
	switch {
	case l.account != nil:
		return &l.account.journal
	case l.device != nil:
		return &l.device.journal
	default:
		return nil
	}
}

// mayFail tells whether a line may fail like that. What was deleted is gone, for
// its own lines and for those that name it.
func (l *fileLine) mayFail(code string) bool {
	of := l
	if l.first != nil {
		of = l.first
	}
	gone := of.account.told.deleted || of.account.opens(deleting)
	if gone && (code == "account_deleted" || code == "account_not_found" || code == "device_removed") {
		return true
	}
	if l.device != nil {
		return l.device.outcome != made && of.account.outcome != made && slices.Contains(l.fails, code)
	}
	return (l.account == nil || l.account.outcome != made) && slices.Contains(l.fails, code)
}

// hearDevice takes in that a line's device is there.
func (p *app) hearDevice(l *fileLine, r holdfast.ImportResult) (possible bool) {
	d := l.device
	if d.outcome == made {
		return r.Result == "exists" && *r.ID == d.id
	}
	d.outcome, d.id, d.owner = made, *r.ID, l.first.account
	d.told = deviceFacts{revision: 1, label: d.label, account: l.first.account.id}
	p.ledger.acknowledge(d.id, 1, "device.created")
	return l.first.account.outcome == made && !l.first.account.told.deleted
}

func orNone(id *string) string {
	if id == nil {
		return "-"
	}
	return *id
}
