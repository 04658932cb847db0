package holdfast

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JournalChain is how far a world's journal was followed: the position of its last
// entry, and the hash there, which stands for all entries up to it. A program that
// keeps it with what it made of the journal goes on from there, and would notice if
// anything before had changed.
//
// The zero value is before the first entry and takes that entry's hash at its word;
// NewJournalChain knows better.
type JournalChain struct {
	Position int64  `json:"position"`
	Hash     string `json:"hash"` // 64 lower-case hexadecimal digits; "" before an entry whose hash is taken at its word
}

// NewJournalChain is before the first entry of a world of one tenant, by its id. So
// no other world's journal can be followed by it.
func NewJournalChain(tenant ID, world string) JournalChain {
	root := sha256.Sum256([]byte("holdfast-journal-v1\n" + tenant + "\n" + world + "\n"))
	return JournalChain{Hash: hex.EncodeToString(root[:])}
}

// Follow goes one entry on, given as the API does: a member of a page's entries, or
// a line. It fails, and goes nowhere, unless the entry is the next one, its digest
// that of its payload, and its hash that of all entries up to it:
//
//	hash(n) = SHA-256(hash(n-1) ‖ header(n) ‖ SHA-256(payload(n)))
//
// where the header is the RFC 8785 JSON of all members but payload, json, digest
// and hash, and the payload either bytes or the RFC 8785 JSON of a value. Whether
// the writer of an entry had the right to write is another question, which the
// service's `holdfast journal verify` answers.
func (c *JournalChain) Follow(entry []byte) error {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(entry, &members); err != nil {
		return fmt.Errorf("holdfast: behind position %d: no entry of a journal: %w", c.Position, err)
	}
	next, err := c.next(members)
	if err != nil {
		return fmt.Errorf("holdfast: the entry behind position %d: %w", c.Position, err)
	}
	*c = next
	return nil
}

func (c *JournalChain) next(members map[string]jsontext.Value) (next JournalChain, err error) {
	var digest, hash string
	for name, into := range map[string]any{"position": &next.Position, "digest": &digest, "hash": &hash} {
		if err := json.Unmarshal(members[name], into); err != nil {
			return JournalChain{}, fmt.Errorf("its %s: %w", name, err)
		}
	}
	if next.Position != c.Position+1 {
		return JournalChain{}, fmt.Errorf("it is at position %d", next.Position)
	}
	payload, err := payloadIn(members)
	if err != nil {
		return JournalChain{}, fmt.Errorf("its payload: %w", err)
	}
	sum := sha256.Sum256(payload)
	if hex.EncodeToString(sum[:]) != digest {
		return JournalChain{}, fmt.Errorf("its digest is not that of its payload")
	}
	for _, name := range []string{"payload", "json", "digest", "hash"} {
		delete(members, name)
	}
	header, err := canonical(members)
	if err != nil {
		return JournalChain{}, err
	}
	before, err := hex.DecodeString(c.Hash)
	if err != nil {
		return JournalChain{}, fmt.Errorf("the hash before it: %w", err)
	}
	link := sha256.Sum256(append(append(before, header...), sum[:]...))
	if next.Hash = hex.EncodeToString(link[:]); next.Hash != hash && c.Hash != "" {
		return JournalChain{}, fmt.Errorf("its hash is not that of the journal up to it")
	}
	next.Hash = hash
	return next, nil
}

// payloadIn gives the bytes that are hashed. Only a tenant's own entries have any.
func payloadIn(members map[string]jsontext.Value) (payload []byte, err error) {
	if value, is := members["json"]; is {
		return canonical(value)
	}
	if text, is := members["payload"]; is {
		err = json.Unmarshal(text, &payload)
	}
	return payload, err
}

// canonical is RFC 8785 JSON.
func canonical(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	form := jsontext.Value(text)
	err = form.Canonicalize()
	return form, err
}
