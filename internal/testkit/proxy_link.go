package testkit

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// link is one client's connection and the proxy's own to the server.
type link struct {
	proxy  *Proxy
	client net.Conn

	mu     sync.Mutex
	server net.Conn // nil until the client has been let through
	over   bool
	ended  chan struct{} // closed once it is over

	asked int64 // answers that the client waits for or has got: the start-up, and every round trip
	// withheld is the answer whose arrival cuts the link, with nothing passed to
	// the client in between; 0 for none.
	withheld atomic.Int64
}

var errCut = errors.New("the proxy cut the connection")

// run passes messages on until one side ends or the link is cut.
func (l *link) run() {
	defer l.proxy.forget(l)
	defer l.cut()
	in := bufio.NewReader(l.client)
	if l.startUp(in) != nil {
		return
	}
	var answering sync.WaitGroup
	defer answering.Wait()
	answering.Go(func() {
		defer l.cut()
		l.answer()
	})
	l.ask(in) // whatever ended it, the peers see it as a lost connection
	l.cut()
}

// cut ends the connection for both sides.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	close(l.ended)
	l.client.Close()
	if l.server != nil {
		l.server.Close()
	}
}

func (l *link) dial() error {
	server, err := net.Dial("tcp", l.proxy.server)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		server.Close()
		return errCut
	}
	l.server = server
	return nil
}

// wait returns when the channel is closed, at once if it is nil.
func (l *link) wait(until <-chan struct{}) error {
	if until == nil {
		return nil
	}
	select {
	case <-until:
		return nil
	case <-l.ended:
		return errCut
	}
}

// Codes of the packets that may come first, beside a protocol version
// (PostgreSQL documentation, "Message Formats").
const (
	codeTLS = 80877103
	codeGSS = 80877104
)

// startUp forwards the client's first packet, which has no type: a start-up or
// the request to cancel another connection's statement. Encryption is declined.
func (l *link) startUp(in *bufio.Reader) error {
	for {
		var head [8]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return err
		}
		switch binary.BigEndian.Uint32(head[4:]) {
		case codeTLS, codeGSS:
			if _, err := l.client.Write([]byte("N")); err != nil {
				return err
			}
			continue
		}
		packet := make([]byte, binary.BigEndian.Uint32(head[:4]))
		copy(packet, head[:])
		if _, err := io.ReadFull(in, packet[8:]); err != nil {
			return err
		}
		if err := l.wait(l.proxy.traffic.opened()); err != nil {
			return err
		}
		if err := l.dial(); err != nil {
			return err
		}
		l.asked = 1
		_, err := l.server.Write(packet)
		return err
	}
}

// ask passes the client's messages on.
func (l *link) ask(in *bufio.Reader) error {
	out := bufio.NewWriter(l.server)
	var heard conversation
	begins := true // an exchange, with the next message
	for {
		m, err := readMessage(in)
		if err != nil {
			return err
		}
		if err := l.wait(l.proxy.traffic.opened()); err != nil {
			return err
		}
		if begins && m.talks() {
			if err := l.begin(m, &heard); err != nil {
				return err
			}
			begins = false
		}
		if sql, runs := heard.hear(m); runs {
			if trap := l.proxy.spring(sql, heard.transaction); trap != nil {
				out.Flush() // what went ahead is the server's
				if err := trap.act(l); err != nil {
					return err
				}
			}
		}
		if m.asks() {
			l.asked++
			l.proxy.trips.Add(1)
			begins = true
		}
		if _, err := out.Write(m); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// answer passes the server's messages on.
func (l *link) answer() error {
	in, out := bufio.NewReader(l.server), bufio.NewWriter(l.client)
	var answered int64
	for {
		m, err := readMessage(in)
		if err != nil {
			return err
		}
		if err := l.wait(l.proxy.traffic.opened()); err != nil {
			return err
		}
		if m.kind() == readyForQuery {
			answered++
		}
		if withheld := l.withheld.Load(); withheld > 0 {
			if answered >= withheld {
				return errCut
			}
			continue
		}
		if _, err := out.Write(m); err != nil {
			return err
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}
