package journal

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxInteger bounds positions, epochs and counts: the integers that RFC 8785
// keeps exactly.
const MaxInteger = 1<<53 - 1

// maxEntryID is the length of an entry id, in bytes.
const maxEntryID = 64

// Entry is one entry of a world's journal.
type Entry struct {
	Position int64 // from 1, dense
	Epoch    int64 // in force behind this entry
	Kind     Kind
	Actor    Actor
	EntryID  string          // KindEntry only: "" for none, or 1 to 64 bytes from '!' to '~', unique in its world
	At       time.Time       // to the microsecond; never before the entry in front
	Details  json.RawMessage // the kind's own fields, canonical (Canonical); "{}" for none
	Payload  []byte          // KindEntry only: any bytes, or canonical JSON, as Details say
	Hash     Hash            // of this entry and all in front of it
}

// Header is the part of the entry that is hashed as it stands: RFC 8785 JSON of
// all but payload and hash. Details must be canonical and the actor's names valid
// UTF-8, as Apply demands.
func (e *Entry) Header() []byte {
	return e.appendHeader(make([]byte, 0, e.headerSize()))
}

// Chain is the entry's hash, given that of the entry before it.
func (e *Entry) Chain(before Hash) Hash {
	digest := e.Digest()
	link := make([]byte, 0, len(before)+e.headerSize()+len(digest))
	link = append(link, before[:]...)
	link = e.appendHeader(link)
	link = append(link, digest[:]...)
	return sha256.Sum256(link)
}

// Digest is the SHA-256 of the payload.
func (e *Entry) Digest() Hash { return sha256.Sum256(e.Payload) }

// headerSize is what a header takes, and some room for what has to be escaped.
func (e *Entry) headerSize() int {
	return 256 + len(e.Details) + len(e.Actor.Issuer) + len(e.Actor.Subject) + len(e.EntryID)
}

// appendHeader writes the members in the order of RFC 8785, section 3.2.3.
func (e *Entry) appendHeader(dst []byte) []byte {
	dst = append(dst, `{"actor":`...)
	dst = e.Actor.appendJSON(dst)
	dst = append(dst, `,"at":"`...)
	dst = appendTime(dst, e.At)
	dst = append(dst, `","details":`...)
	dst = append(dst, e.Details...)
	if e.EntryID != "" {
		dst = appendMember(dst, `,"entry_id":`, e.EntryID)
	}
	dst = append(dst, `,"epoch":`...)
	dst = strconv.AppendInt(dst, e.Epoch, 10)
	dst = appendMember(dst, `,"kind":`, string(e.Kind))
	dst = append(dst, `,"position":`...)
	dst = strconv.AppendInt(dst, e.Position, 10)
	return append(dst, '}')
}

// appendMember appends a name as it stands, and a string as RFC 8785, section
// 3.2.2.2 has it.
func appendMember(dst []byte, name, value string) []byte {
	dst, _ = jsontext.AppendQuote(append(dst, name...), value) // it fails on what is no UTF-8 only
	return dst
}
