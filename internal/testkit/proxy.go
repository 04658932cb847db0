package testkit

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands on loopback between clients and a PostgreSQL server, and passes
// everything on until it is told otherwise. It speaks no TLS.
type Proxy struct {
	server   string // host:port
	listener net.Listener
	trips    atomic.Int64
	traffic  valve
	fate     atomic.Pointer[func(statement string) Fate] // of exchanges; nil where all pass
	serving  sync.WaitGroup

	mu       sync.Mutex
	links    map[*link]struct{}
	traps    []*Trap
	refusing bool
}

// startProxy serves until the test ends.
func startProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: server, listener: listener, links: map[*link]struct{}{}}
	p.serving.Go(p.serve)
	t.Cleanup(p.stop)
	return p
}

// Address is where clients connect: host:port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// RoundTrips counts the times that a client has asked for an answer and waited.
// Making a connection is none.
func (p *Proxy) RoundTrips() int64 { return p.trips.Load() }

// CutAll cuts every connection. New ones are welcome.
func (p *Proxy) CutAll() {
	for _, l := range p.standing() {
		l.cut()
	}
}

// Refuse closes new connections at once, until Accept. Those that stand go on.
func (p *Proxy) Refuse() { p.refuse(true) }

// Accept ends Refuse.
func (p *Proxy) Accept() { p.refuse(false) }

// Hold lets nothing pass in either direction, until Resume or the end of the
// test: the peers wait, as they would on a network that drops every packet.
func (p *Proxy) Hold(t testing.TB) {
	p.traffic.shut()
	t.Cleanup(p.Resume) // runs before the routers close, who would wait for it
}

// Resume ends Hold. Nothing was lost.
func (p *Proxy) Resume() { p.traffic.open() }

func (p *Proxy) refuse(refusing bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refusing = refusing
}

func (p *Proxy) standing() (links []*link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		links = append(links, l)
	}
	return links
}

func (p *Proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		l := &link{proxy: p, client: client, ended: make(chan struct{})}
		if !p.admit(l) {
			client.Close()
			continue
		}
		p.serving.Go(l.run)
	}
}

func (p *Proxy) admit(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.refusing {
		p.links[l] = struct{}{}
	}
	return !p.refusing
}

func (p *Proxy) forget(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (p *Proxy) stop() {
	p.Refuse()
	p.listener.Close()
	p.CutAll()
	p.serving.Wait()
}

// valve lets traffic through while it is open.
type valve struct {
	mu    sync.Mutex
	until chan struct{} // nil while open; closed when it opens again
}

func (v *valve) shut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.until == nil {
		v.until = make(chan struct{})
	}
}

func (v *valve) open() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.until != nil {
		close(v.until)
		v.until = nil
	}
}

// opened is closed when the valve opens; nil if it is open.
func (v *valve) opened() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.until
}
