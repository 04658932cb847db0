package testkit

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// message is one of PostgreSQL's protocol, as it was received: a type, a length
// of four bytes that counts itself, and a body.
type message []byte

// Types of messages (PostgreSQL documentation, "Message Formats").
const (
	parse         = 'P'
	bind          = 'B'
	query         = 'Q'
	synchronize   = 'S'
	password      = 'p'
	terminate     = 'X'
	readyForQuery = 'Z'
)

func readMessage(in *bufio.Reader) (message, error) {
	var head [5]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[1:])
	if size < 4 {
		return nil, errors.New("a message is shorter than its own length")
	}
	m := make(message, 1+size)
	copy(m, head[:])
	_, err := io.ReadFull(in, m[len(head):])
	return m, err
}

func (m message) kind() byte   { return m[0] }
func (m message) body() []byte { return m[5:] }

// asks tells whether the client waits for the server behind it.
func (m message) asks() bool { return m.kind() == query || m.kind() == synchronize }

// talks tells whether the client wants something from the server, beside being let
// in and taking leave.
func (m message) talks() bool { return m.kind() != password && m.kind() != terminate }

// conversation follows what a client says, just closely enough to know which
// statement it runs. A statement may be prepared once, by name, and from then on
// run by its name only.
type conversation struct {
	prepared    map[string]string // SQL by name
	transaction []string          // the statements run since the last begin, without the commit
}

// hear takes the client's next message and tells which statement it runs, if it
// runs one.
func (c *conversation) hear(m message) (sql string, runs bool) {
	switch m.kind() {
	case parse:
		var p pgproto3.Parse
		if p.Decode(m.body()) == nil {
			if c.prepared == nil {
				c.prepared = map[string]string{}
			}
			c.prepared[p.Name] = p.Query
		}
		return "", false
	case bind:
		var b pgproto3.Bind
		if b.Decode(m.body()) != nil {
			return "", false
		}
		sql = c.prepared[b.PreparedStatement]
	case query:
		var q pgproto3.Query
		if q.Decode(m.body()) != nil {
			return "", false
		}
		sql = q.String
	default:
		return "", false
	}
	switch {
	case begins(sql):
		c.transaction = nil
	case !commits(sql):
		c.transaction = append(c.transaction, sql)
	}
	return sql, true
}

func begins(sql string) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(sql)), "begin")
}

func commits(sql string) bool { return strings.EqualFold(strings.TrimSpace(sql), "commit") }
