package main

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// fleet are several API processes of one stack, behind what a load balancer
// would be: each request goes to any of those that are said to live, and waits
// while there is none.
type fleet struct {
	stack *stack
	http  *http.Client
	fault func(format string, args ...any)

	mu       sync.Mutex
	members  []*member
	answered int64 // calls of those who count
	over     bool
	broken   bool       // a process didn't start
	changed  *sync.Cond // anything of the above
	starting sync.WaitGroup
}

type member struct {
	*running
	host   string
	doomed atomic.Bool // no answer is no wonder
	gone   bool        // nothing is sent to it
}

func newFleet(t *testing.T, s *stack, size int) *fleet {
	t.Helper()
	f := &fleet{
		stack:   s,
		http:    &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}},
		fault:   t.Errorf,
		members: make([]*member, size),
	}
	f.changed = sync.NewCond(&f.mu)
	for i := range f.members {
		f.members[i] = &member{gone: true}
		f.members[i].doomed.Store(true)
		f.start(t, i)
		f.starting.Wait() // the first has more to do than the others, which would wait for it
		if f.broken {
			t.FailNow()
		}
	}
	t.Cleanup(f.http.CloseIdleConnections)
	return f
}

// start begins to start a process in the place of one that is gone.
func (f *fleet) start(t *testing.T, i int) {
	f.starting.Go(func() {
		r, err := f.stack.launch(t, "HOLDFAST_POOL_SIZE=2")
		if err != nil {
			f.fault("a process doesn't start: %v", err)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		defer f.changed.Broadcast()
		if f.broken = f.broken || err != nil; f.broken {
			return
		}
		f.members[i] = &member{running: r, host: strings.TrimPrefix(r.url, "http://")}
	})
}

// kill ends some of the processes under whatever they are at, and has others
// started in their place. It tells how many there were to be killed.
func (f *fleet) kill(t *testing.T, victims ...int) (killed int) {
	t.Helper()
	for _, i := range victims {
		if f.end(i) {
			f.start(t, i)
			killed++
		}
	}
	return killed
}

// end kills a process, if it lives. Requests go on being sent to it until it is
// gone.
func (f *fleet) end(i int) bool {
	m := f.member(i)
	if m.doomed.Swap(true) {
		return false
	}
	m.kill()
	f.rest(m, true)
	return true
}

// stall stops a process in whatever it is at, for as long as something else is
// done, and lets it go on then. Meanwhile nothing is sent to it.
func (f *fleet) stall(i int, meanwhile func()) {
	m := f.member(i)
	if m.doomed.Load() {
		return
	}
	f.rest(m, true)
	m.signal(syscall.SIGSTOP)
	meanwhile()
	m.signal(syscall.SIGCONT)
	f.rest(m, false)
}

func (f *fleet) rest(m *member, gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.gone = gone
	f.changed.Broadcast()
}

func (f *fleet) member(i int) *member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.members[i]
}

var errBroken = errors.New("the fleet can't be started again")

// any is one of those that live, once there is one.
func (f *fleet) any() (*member, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		var living []*member
		for _, m := range f.members {
			if !m.gone {
				living = append(living, m)
			}
		}
		if len(living) > 0 {
			return living[rand.IntN(len(living))], nil
		}
		if f.broken {
			return nil, errBroken
		}
		f.changed.Wait()
	}
}

// await returns once so many calls have been answered, or false when the storm is
// over.
func (f *fleet) await(answered int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.answered < answered && !f.over {
		f.changed.Wait()
	}
	return !f.over
}

func (f *fleet) progress() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answered
}

func (f *fleet) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.changed.Broadcast()
}

func (f *fleet) count() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered++
	f.changed.Broadcast()
}

// door is a way into the fleet. Calls that come through one that counts are what
// the storm goes by.
type door struct {
	fleet    *fleet
	patience time.Duration
	counts   bool
}

// Do sends the request to one process. An answer is one when all of it has come.
func (d door) Do(request *http.Request) (*http.Response, error) {
	m, err := d.fleet.any()
	if err != nil {
		return nil, err
	}
	sent := request.Clone(request.Context())
	sent.URL.Host, sent.Host = m.host, m.host
	patient := *d.fleet.http
	patient.Timeout = d.patience
	response, err := patient.Do(sent)
	var body []byte
	if err == nil {
		body, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err != nil {
		if !m.doomed.Load() && request.Context().Err() == nil {
			d.fleet.fault("a living process gave no answer: %v", err)
		}
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if d.counts {
		d.fleet.count()
	}
	return response, nil
}

// anywhere is the URL by which the fleet is called: its doors know the hosts.
const anywhere = "http://fleet"

// connect asks once, and leaves to its caller what to do without an answer.
func (d door) connect(t testing.TB, key string) *holdfast.ClientWithResponses {
	t.Helper()
	client, err := holdfast.Connect(anywhere, key, holdfast.WithAttempts(1), holdfast.WithHTTPDoer(d))
	if err != nil {
		t.Fatal(err)
	}
	return client
}
