package lease

import (
	"math"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
)

// request is one call of a history, and response what its caller was told.
type request struct {
	kind     string
	by       string // a principal's name
	id       string // of an acquire's request, or of an entry
	epoch    int64  // that is presented or was looked at; 0 for a hosted append
	takeover bool
}

type response struct {
	unknown   bool   // it may have happened, or happen yet
	code      string // of a refusal; "" for success
	epoch     int64
	holder    string // "" for the coordinator
	activated bool
	replayed  bool
	ids       string
}

// register is a world as one writer after the other would see it.
type register struct {
	epoch     int64
	holder    string // "" for the coordinator
	request   string // that got the lease
	activated bool
	over      bool   // its term is
	expired   int64  // the last epoch whose term ended
	ids       string // of the entries, in order, each ended by a space
}

// next is the sequential specification: what a request does, and is told.
func (r register) next(in request) (register, response) {
	if in.kind == "advance" { // by a whole term
		r.over = r.holder != ""
		return r, response{}
	}
	if in.kind == "journal" { // looks at no lease
		return r, response{ids: r.ids}
	}
	if r.over {
		r.expired = r.epoch
		r = r.pass("", "")
	}
	switch in.kind {
	case "lease":
	case "acquire":
		switch {
		case r.holder == in.by && r.request == in.id: // again
		case r.holder == "", r.holder == in.by && in.takeover:
			r = r.pass(in.by, in.id)
		default:
			return r, r.refuse("lease_held")
		}
	case "append":
		switch {
		case r.has(in.id):
			return r, response{replayed: true}
		case in.epoch == 0 && r.holder == "":
		default:
			if refused := r.fence(in); refused.code != "" {
				return r, refused
			}
			if !r.activated {
				return r, response{code: "lease_not_activated", epoch: r.epoch}
			}
		}
		r.ids += in.id + " "
	case "revoke":
		switch {
		case r.holder == "":
			return r, response{code: "lease_not_held"}
		case r.epoch != in.epoch:
			return r, response{code: "lease_changed", epoch: r.epoch}
		}
		r = r.pass("", "")
	default:
		if refused := r.fence(in); refused.code != "" {
			return r, refused
		}
		switch in.kind {
		case "activate":
			r.activated = true
		case "hand off":
			r = r.pass("", "")
		case "renew": // tells nothing of the activation
			return r, response{epoch: r.epoch, holder: r.holder}
		}
	}
	return r, response{epoch: r.epoch, holder: r.holder, activated: r.activated}
}

// pass makes the next writer.
func (r register) pass(to, request string) register {
	r.epoch++
	r.holder, r.request, r.activated, r.over = to, request, to == "", false
	return r
}

func (r register) fence(in request) response {
	switch {
	case in.epoch == 0:
		return r.refuse("fenced")
	case r.holder == "" && in.epoch == r.expired && in.epoch == r.epoch-1:
		return r.refuse("lease_expired")
	case in.epoch != r.epoch || in.by != r.holder:
		return r.refuse("fenced")
	}
	return response{}
}

func (r register) refuse(code string) response {
	return response{code: code, epoch: r.epoch, holder: r.holder}
}

func (r register) has(id string) bool { return strings.Contains(" "+r.ids, " "+id+" ") }

// specification judges one step of a linearization.
var specification = porcupine.Model{
	Init: func() any { return register{epoch: 1, activated: true} },
	Step: func(state, input, output any) (bool, any) {
		before, in, got := state.(register), input.(request), output.(response)
		after, want := before.next(in)
		switch {
		case got.unknown:
			return true, after
		case in.kind == "revoke" && got.code == "lease_changed" && want.code == "":
			// It was renewed since, which is no part of the register: nothing changes.
			after, _ = before.next(request{kind: "lease"})
			return got.epoch == after.epoch, after
		}
		return got == want, after
	},
	DescribeOperation: func(input, output any) string { return describe(input, output) },
	DescribeState:     func(state any) string { return describe(state) },
}

// endingIn is the specification of a world whose journal has just these entries in
// the end. An order that writes another is given up there, and not when it comes to
// the end: where many outcomes are unknown, there are too many orders for that.
func endingIn(ids string) porcupine.Model {
	model := specification
	model.Step = func(state, input, output any) (bool, any) {
		fits, after := specification.Step(state, input, output)
		return fits && strings.HasPrefix(ids, after.(register).ids), after
	}
	return model
}

// The specification refuses what no order of the requests explains.
func TestSpecification_RefusesWhatNoOrderExplains(t *testing.T) {
	t.Parallel()
	const a, b = "a", "b"
	acquired := func(by string, epoch int64) call {
		return call{request{kind: "acquire", by: by, id: by}, response{epoch: epoch, holder: by}}
	}
	activated := func(by string, epoch int64) call {
		return call{request{kind: "activate", by: by, epoch: epoch}, response{epoch: epoch, holder: by, activated: true}}
	}
	wrote := func(by string, epoch int64, id string) call {
		return call{request{kind: "append", by: by, epoch: epoch, id: id}, response{epoch: epoch, holder: by, activated: true}}
	}
	fenced := func(by string, presented, epoch int64, holder string) call {
		return call{request{kind: "append", by: by, epoch: presented, id: "late"}, response{code: "fenced", epoch: epoch, holder: holder}}
	}
	advance := call{request{kind: "advance"}, response{}}
	lost := func(c call) call { c.got = response{unknown: true}; return c }
	journal := func(ids string) call { return call{request{kind: "journal"}, response{ids: ids}} }

	for name, tt := range map[string]struct {
		history []call // one behind the other
		want    porcupine.CheckResult
	}{
		"a lease's life":                  {[]call{acquired(a, 2), activated(a, 2), wrote(a, 2, "1"), journal("1 ")}, porcupine.Ok},
		"a writer behind its term":        {[]call{acquired(a, 2), activated(a, 2), advance, wrote(a, 2, "1")}, porcupine.Illegal},
		"the next one behind a term":      {[]call{acquired(a, 2), advance, acquired(b, 4), fenced(a, 2, 4, b)}, porcupine.Ok},
		"an epoch that was skipped":       {[]call{acquired(a, 3)}, porcupine.Illegal},
		"two holders":                     {[]call{acquired(a, 2), acquired(b, 3)}, porcupine.Illegal},
		"a writer before its activation":  {[]call{acquired(a, 2), wrote(a, 2, "1")}, porcupine.Illegal},
		"fenced by nobody":                {[]call{acquired(a, 2), activated(a, 2), fenced(a, 2, 2, a)}, porcupine.Illegal},
		"fenced by the wrong one":         {[]call{acquired(a, 2), advance, acquired(b, 4), fenced(a, 2, 3, "")}, porcupine.Illegal},
		"an acknowledged entry lost":      {[]call{acquired(a, 2), activated(a, 2), wrote(a, 2, "1"), journal("")}, porcupine.Illegal},
		"an entry that nobody wrote":      {[]call{acquired(a, 2), activated(a, 2), journal("1 ")}, porcupine.Illegal},
		"a lost answer that did happen":   {[]call{acquired(a, 2), activated(a, 2), lost(wrote(a, 2, "1")), journal("1 ")}, porcupine.Ok},
		"a lost answer that did not":      {[]call{acquired(a, 2), activated(a, 2), lost(wrote(a, 2, "1")), journal("")}, porcupine.Ok},
		"a lost answer that did it twice": {[]call{acquired(a, 2), activated(a, 2), lost(wrote(a, 2, "1")), journal("1 1 ")}, porcupine.Illegal},
	} {
		var operations []porcupine.Operation
		for i, c := range tt.history {
			operation := porcupine.Operation{Input: c.in, Output: c.got, Call: int64(2 * i), Return: int64(2*i + 1)}
			if c.got.unknown {
				operation.Return = math.MaxInt64
			}
			operations = append(operations, operation)
		}
		if got := porcupine.CheckOperationsTimeout(specification, operations, 0); got != tt.want {
			t.Errorf("%s is %s, want %s", name, got, tt.want)
		}
	}
}

// call is a request and its answer.
type call struct {
	in  request
	got response
}
