package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// traffic is what goes on while numbers move: callers make accounts, append to worlds
// and publish records, each request again under its key until there is an answer.
type traffic struct {
	customer  customer
	processes atomic.Pointer[[]*running] // those that requests go to
	client    *holdfast.ClientWithResponses

	calm      chan struct{} // closed when no more is to be asked for
	abandoned chan struct{} // closed when nobody wants the answers any more
	callers   sync.WaitGroup

	mu       sync.Mutex
	answered []answered
	refused  int // by a number that was closed
}

// answered is a request with its answer, as text.
type answered struct {
	what   string
	ask    func() (string, error)
	answer string
}

const (
	moveCallers = 2 // of each kind
	moveNames   = 8 // worlds, and collections
)

func newTraffic(t *testing.T, s *stack, first *running) *traffic {
	t.Helper()
	f := &traffic{customer: s.tenant(t, first, "acme", tenancy.TenantScopes()...), calm: make(chan struct{}), abandoned: make(chan struct{})}
	f.goTo(first)
	var err error
	if f.client, err = holdfast.Connect(anywhere, f.customer.key, holdfast.WithAttempts(1), holdfast.WithHTTPDoer(f)); err != nil {
		t.Fatal(err)
	}
	for n := range moveNames {
		if _, err := f.client.CreateWorldWithResponse(t.Context(), holdfast.NewWorld{WorldID: worldName(n)}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.client.PutCollectionWithResponse(t.Context(), shelfName(n), holdfast.NewCollection{}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func worldName(n int) string { return fmt.Sprintf("world-%d", n) }
func shelfName(n int) string { return fmt.Sprintf("shelf-%d", n) }

// goTo has requests go to these processes from now on, as a load balancer would.
func (f *traffic) goTo(processes ...*running) { f.processes.Store(&processes) }

func (f *traffic) Do(request *http.Request) (*http.Response, error) {
	processes := *f.processes.Load()
	sent := request.Clone(request.Context())
	host := strings.TrimPrefix(processes[rand.IntN(len(processes))].url, "http://")
	sent.URL.Host, sent.Host = host, host
	return http.DefaultClient.Do(sent)
}

// begin lets callers of each kind ask until the traffic is ended.
func (f *traffic) begin(t *testing.T) {
	for caller := range moveCallers {
		for _, kind := range []func(t *testing.T, caller, n int) answered{f.account, f.entry, f.record} {
			f.callers.Go(func() {
				for n := 0; !is(f.calm); n++ {
					if !f.insist(t, kind(t, caller, n)) {
						return
					}
					time.Sleep(5 * time.Millisecond) // the callers leave the processor to the others
				}
			})
		}
	}
}

// is tells whether what a channel stands for has come.
func is(closed chan struct{}) bool {
	select {
	case <-closed:
		return true
	default:
		return false
	}
}

// end returns when every request that was made has its answer.
func (f *traffic) end() {
	close(f.calm)
	f.callers.Wait()
}

// abandon ends traffic that a failed test has left, whatever has been answered.
func (f *traffic) abandon() {
	if !is(f.calm) {
		close(f.abandoned)
		f.end()
	}
}

// insist asks until there is an answer that stands. Anything but a request to come
// again is a fault.
func (f *traffic) insist(t *testing.T, a answered) bool {
	for !is(f.abandoned) {
		answer, err := a.ask()
		if err == nil {
			a.answer = answer
			f.mu.Lock()
			defer f.mu.Unlock()
			f.answered = append(f.answered, a)
			return true
		}
		if !leavesOpen(err) && !mayRetry(err) {
			t.Errorf("%s: %v", a.what, err)
			return false
		}
		f.note(err)
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

func (f *traffic) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if holdfast.IsCode(err, "partition_unavailable") {
		f.refused++
	}
}

func (f *traffic) counts() (answered, refused int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.answered), f.refused
}

// flows waits until so many more requests have been answered.
func (f *traffic) flows(t *testing.T, when string, more int) {
	t.Helper()
	before, _ := f.counts()
	eventually(t, "traffic goes on "+when, func() bool { now, _ := f.counts(); return now >= before+more })
}

// stalls waits until so many more requests have been refused by closed numbers.
func (f *traffic) stalls(t *testing.T, more int) {
	t.Helper()
	_, before := f.counts()
	eventually(t, "closed numbers refuse", func() bool { _, now := f.counts(); return now >= before+more })
}

// askAgain repeats every request: each must have the answer that it had.
func (f *traffic) askAgain(t *testing.T) {
	t.Helper()
	var asking errgroup.Group
	asking.SetLimit(8)
	for _, a := range f.answered {
		asking.Go(func() error {
			if answer, err := a.ask(); err != nil || answer != a.answer {
				t.Errorf("%s: it was answered %s, and now %s, %v", a.what, a.answer, answer, err)
			}
			return nil
		})
	}
	asking.Wait()
}

func (f *traffic) account(t *testing.T, caller, n int) answered {
	name := fmt.Sprintf("account-%d-%d", caller, n)
	return answered{what: name, ask: func() (string, error) {
		asked := holdfast.NewAccount{Handle: name, Email: ptr(name + "@example.com")}
		made, err := f.client.CreateAccountWithResponse(t.Context(), &holdfast.CreateAccountParams{IdempotencyKey: &name}, asked)
		switch {
		case err != nil:
			return "", err
		case made.JSON201 != nil:
			return made.JSON201.ID, nil
		}
		return "", errors.New(made.Status())
	}}
}

func (f *traffic) entry(t *testing.T, caller, n int) answered {
	id := fmt.Sprintf("entry-%d-%d", caller, n)
	return answered{what: id, ask: func() (string, error) {
		written, err := f.client.AppendEntriesWithResponse(t.Context(), worldName(n%moveNames), &holdfast.AppendEntriesParams{},
			holdfast.NewEntries{Entries: []holdfast.NewEntry{{EntryID: id, JSON: json.RawMessage(`{"n":1}`)}}})
		switch {
		case err != nil:
			return "", err
		case written.JSON200 != nil:
			return fmt.Sprint(written.JSON200.Positions), nil
		}
		return fmt.Sprint(written.JSON201.Positions), nil
	}}
}

func (f *traffic) record(t *testing.T, caller, n int) answered {
	key := fmt.Sprintf("record-%d-%d", caller, n)
	return answered{what: key, ask: func() (string, error) {
		sections := holdfast.Sections{"items": holdfast.SectionBody{Body: []byte("the body of " + key)}}
		published, err := f.client.PutRecordWithResponse(t.Context(), shelfName(n%moveNames), key,
			&holdfast.PutRecordParams{IfNoneMatch: ptr("*")}, holdfast.Publication{OperationID: key, Sections: &sections})
		if err != nil {
			return "", err
		}
		return receiptText(*published.JSON200), nil
	}}
}
