package testkit

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/objectstore"
)

// StoreFaults is the network between a client and an object store. It passes
// everything on until it is told otherwise, and remembers what it saw.
//
// Within (Through) a client it is the client's transport, which works with any
// store. Proxied, it is a server on loopback before the store, for clients in
// other processes.
type StoreFaults struct {
	next http.RoundTripper

	mu     sync.Mutex
	seen   []StoreRequest
	orders []*order
	odds   func() Fault // nil where nothing is left to chance
}

// StoreRequest is a request as a client sent it.
type StoreRequest struct {
	Method string
	URL    string // its path and query, and its host in host style
	Header http.Header
	Length int64 // of the body, as announced; -1 if it wasn't
	Chunks bool  // whether it came in chunks
	Late   bool  // whether headers followed the body
}

// order is what shall happen to the next requests of a kind.
type order struct {
	name   string
	match  func(*http.Request) bool
	faults []Fault
}

// NewStoreFaults makes a network for a test. A fault that nothing met until the
// test ends fails it: a test of a fault that never came proves nothing.
func NewStoreFaults(t testing.TB) *StoreFaults {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	f := &StoreFaults{next: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		for _, o := range f.orders {
			if len(o.faults) > 0 {
				t.Errorf("%d faults of %s were met by no request", len(o.faults), o.name)
			}
		}
	})
	return f
}

// Through puts the network into a client: it replaces the settings' transport,
// or lies before it.
func (f *StoreFaults) Through(s objectstore.Settings) objectstore.Settings {
	if s.Transport != nil {
		f.next = s.Transport
	}
	s.Transport = f
	return s
}

// On has the next requests of a method ("GET") meet the faults, one each, in
// order. A nil fault lets one pass.
func (f *StoreFaults) On(method string, faults ...Fault) {
	f.When(method, func(r *http.Request) bool { return r.Method == method }, faults...)
}

// When likewise chooses requests by anything that they have. name is for the
// test's report.
func (f *StoreFaults) When(name string, match func(*http.Request) bool, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, &order{name, match, faults})
}

// AtRandom has a share of all requests (0.05) meet one of the faults, drawn from
// a seed. Those that were ordered go first. No faults, no chance.
func (f *StoreFaults) AtRandom(seed uint64, share float64, faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.odds = nil
	if len(faults) == 0 {
		return
	}
	dice := rand.New(rand.NewPCG(seed, seed))
	f.odds = func() Fault {
		if dice.Float64() >= share {
			return nil
		}
		return faults[dice.IntN(len(faults))]
	}
}

// Requests are those that came so far.
func (f *StoreFaults) Requests() []StoreRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// Count is how many of them had a method.
func (f *StoreFaults) Count(method string) int {
	n := 0
	for _, r := range f.Requests() {
		if r.Method == method {
			n++
		}
	}
	return n
}

// RoundTrip is http.RoundTripper's.
func (f *StoreFaults) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := false
	pass := func() (*http.Response, error) {
		sent = true
		return f.next.RoundTrip(r)
	}
	fault := f.meet(r)
	if fault == nil {
		return pass()
	}
	answer, err := fault(r, pass)
	if !sent && r.Body != nil {
		// Whoever sends nothing must take the body all the same.
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	return answer, err
}

// meet notes the request, and gives the fault that waits for it.
func (f *StoreFaults) meet(r *http.Request) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, StoreRequest{
		Method: r.Method,
		URL:    fmt.Sprint(r.URL),
		Header: r.Header.Clone(),
		Length: r.ContentLength,
		Chunks: len(r.TransferEncoding) > 0,
		Late:   len(r.Trailer) > 0,
	})
	for _, o := range f.orders {
		if len(o.faults) > 0 && o.match(r) {
			fault := o.faults[0]
			o.faults = o.faults[1:]
			return fault
		}
	}
	if f.odds != nil {
		return f.odds()
	}
	return nil
}
