package audit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

const (
	// refusalWindow and refusalsWritten bound what one caller, or all who show no good
	// token together, can have written in one process: what goes beyond is counted.
	refusalWindow   = 10 * time.Second
	refusalsWritten = 20
	// maxCallers bounds the memory: who comes beyond it counts as one.
	maxCallers = 1 << 14

	writeTimeout = 5 * time.Second
)

// Refusals writes refusals of acts that were never begun.
type Refusals struct {
	log *Log

	mu      sync.Mutex
	callers map[refusedCaller]*refusedCalls // in this window
}

// refusedCaller is zero for those who are not known.
type refusedCaller struct {
	tenant    domain.TenantID
	principal domain.PrincipalID
}

type refusedCalls struct {
	written   int
	unwritten int64
	last      Entry // of those that were not written
}

// NewRefusals makes a Refusals, whose Run must run.
func NewRefusals(log *Log) *Refusals {
	return &Refusals{log: log, callers: map[refusedCaller]*refusedCalls{}}
}

// Note writes the refusal, or counts it while there are too many of the same caller:
// the count is written when its ten seconds are over.
//
// Errors: as Append's.
func (r *Refusals) Note(ctx context.Context, e Entry) error {
	if !r.mayWrite(e) {
		return nil
	}
	_, err := r.log.Append(ctx, e)
	return err
}

func (r *Refusals) mayWrite(e Entry) bool {
	var caller refusedCaller
	if e.Actor != nil {
		caller = refusedCaller{e.Actor.Tenant, e.Actor.Principal}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	calls, known := r.callers[caller]
	if !known && len(r.callers) >= maxCallers {
		caller = refusedCaller{}
		calls, known = r.callers[caller]
	}
	if !known {
		calls = &refusedCalls{}
		r.callers[caller] = calls
	}
	if calls.written < refusalsWritten {
		calls.written++
		return true
	}
	calls.unwritten++
	calls.last = e
	return false
}

// Run writes the counts every ten seconds, and for the last time when ctx ends; it
// returns nil then. failed gets the error of a count that was not written: its
// refusals are counted on.
func (r *Refusals) Run(ctx context.Context, failed func(error)) error {
	tick := time.NewTicker(refusalWindow)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			r.flush(context.WithoutCancel(ctx), failed)
			return nil
		case <-tick.C:
			r.flush(ctx, failed)
		}
	}
}

// Flush ends the window: it writes one entry for each caller some of whose refusals
// have none, the last of them with the number of those before.
func (r *Refusals) Flush(ctx context.Context) error {
	var errs []error
	r.flush(ctx, func(err error) { errs = append(errs, err) })
	return errors.Join(errs...)
}

func (r *Refusals) flush(ctx context.Context, failed func(error)) {
	r.mu.Lock()
	callers := r.callers
	r.callers = map[refusedCaller]*refusedCalls{}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	for caller, calls := range callers {
		if calls.unwritten == 0 {
			continue
		}
		calls.last.Unwritten = calls.unwritten - 1
		if _, err := r.log.Append(ctx, calls.last); err != nil {
			failed(err)
			r.giveBack(caller, calls)
		}
	}
}

// giveBack counts on what could not be written.
func (r *Refusals) giveBack(caller refusedCaller, calls *refusedCalls) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, known := r.callers[caller]
	if !known {
		r.callers[caller] = &refusedCalls{unwritten: calls.unwritten, last: calls.last}
		return
	}
	if now.unwritten == 0 {
		now.last = calls.last
	}
	now.unwritten += calls.unwritten
}
