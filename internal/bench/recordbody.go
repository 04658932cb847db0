package bench

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// bodyMaker makes bodies for one caller. Nothing compresses them, and no two of
// any makers are alike; but one differs from the next by its stamp only, so that
// neither bodies nor their base64 cost the load much.
type bodyMaker struct {
	n     uint64
	bytes []byte // the body
	text  []byte // its base64
}

// stamp is how long a body's beginning is that changes: whole groups of base64.
const stamp = 9

func newBodyMaker(size int) *bodyMaker {
	m := &bodyMaker{bytes: make([]byte, size)}
	rand.Read(m.bytes)
	m.text = base64.StdEncoding.AppendEncode(nil, m.bytes)
	return m
}

// next makes the next body in the last one's place.
func (m *bodyMaker) next() {
	m.n++
	binary.BigEndian.PutUint64(m.bytes, m.n)
	base64.StdEncoding.Encode(m.text, m.bytes[:stamp])
}

func (m *bodyMaker) digest() [32]byte { return sha256.Sum256(m.bytes) }

// newBodyMakers gives one for each caller.
func newBodyMakers(callers, size int) []*bodyMaker {
	makers := make([]*bodyMaker, callers)
	for i := range makers {
		makers[i] = newBodyMaker(size)
	}
	return makers
}
