package testkit

import "github.com/jackc/pgx/v5/pgproto3"

// Fate is what becomes of an exchange: of what a client asks a server in one go,
// and of the answer.
type Fate int

// The fates of exchanges.
const (
	Passes        Fate = iota
	NeverArrives       // the connection is cut before the server hears anything of it
	NeverAnswered      // the server does all of it, and the connection is cut when the answer arrives
)

// Decide has a test decide the fate of every exchange from here on, over each of
// the proxies, before its first word is passed on: the statement that it begins
// with. Making a connection is none, and neither is taking leave. Several clients
// may ask at once.
func (in *Proxied) Decide(fate func(statement string) Fate) {
	for _, p := range in.proxies {
		p.fate.Store(&fate)
	}
}

// begin meets the fate of the exchange that begins with a message.
func (l *link) begin(m message, heard *conversation) error {
	decide := l.proxy.fate.Load()
	if decide == nil {
		return nil
	}
	switch (*decide)(heard.first(m)) {
	case NeverArrives:
		return errCut
	case NeverAnswered:
		l.withheld.Store(l.asked + 1)
	}
	return nil
}

// first is the statement that a message has, or runs by its name.
func (c *conversation) first(m message) string {
	var p pgproto3.Parse
	var b pgproto3.Bind
	var q pgproto3.Query
	switch m.kind() {
	case parse:
		if p.Decode(m.body()) == nil {
			return p.Query
		}
	case bind:
		if b.Decode(m.body()) == nil {
			return c.prepared[b.PreparedStatement]
		}
	case query:
		if q.Decode(m.body()) == nil {
			return q.String
		}
	}
	return ""
}
