package lease

import (
	"encoding/base64"
	"encoding/binary"
)

// channel is what processes listen to on each data database.
const channel = "holdfast_journal"

// message is the payload of a notification: which journals have gone on, by what
// a listener that is no tenant may know. In base64 it is
//
//	process (8 bytes) (world (16 bytes) end (8 bytes))…
//
// and has less than the 8,000 bytes that PostgreSQL allows.
type message struct {
	process uint64 // that tells
	grown   []grown
}

const (
	processBytes = 8
	worldBytes   = len(worldKey{}) + 8
	// maxTold is how many worlds one notification tells of.
	maxTold = (7999/4*3 - processBytes) / worldBytes
)

func (m message) text() string {
	raw := make([]byte, 0, processBytes+len(m.grown)*worldBytes)
	raw = binary.BigEndian.AppendUint64(raw, m.process)
	for _, g := range m.grown {
		raw = append(raw, g.world[:]...)
		raw = binary.BigEndian.AppendUint64(raw, uint64(g.end))
	}
	return base64.RawStdEncoding.EncodeToString(raw)
}

func parseMessage(text string) (m message, ok bool) {
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(raw) < processBytes || (len(raw)-processBytes)%worldBytes != 0 {
		return message{}, false
	}
	m.process, raw = binary.BigEndian.Uint64(raw), raw[processBytes:]
	for ; len(raw) > 0; raw = raw[worldBytes:] {
		world := worldKey(raw[:len(worldKey{})])
		m.grown = append(m.grown, grown{world, int64(binary.BigEndian.Uint64(raw[len(world):]))})
	}
	return m, true
}
