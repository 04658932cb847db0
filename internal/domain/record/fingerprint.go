package record

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
)

// asked is what an operation id is bound to: what was asked, and neither how it
// was encoded, nor who asked, nor the claim that a batch had of the item.
type asked struct {
	Operation  string               `json:"operation"`
	Key        string               `json:"key"`
	Sections   map[string]askedBody `json:"sections"`
	Tombstones []string             `json:"tombstones"`
	Expect     *askedExpectation    `json:"expect,omitempty"`
}

type askedBody struct {
	Digest Digest `json:"digest"`
	Length int    `json:"length"`
}

type askedExpectation struct {
	Revision int64              `json:"revision"`
	Absent   bool               `json:"absent"`
	Digests  map[string]*Digest `json:"digests,omitempty"` // none and an empty map are the same
	Fence    *Fence             `json:"fence"`
}

// hash is the SHA-256 of the fields in their order. encoding/json sorts maps.
func (a asked) hash() [32]byte {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // texts, numbers and lists of them always marshal
	}
	return sha256.Sum256(text)
}

func (p *Publication) asked() asked {
	a := asked{Operation: "publish", Key: p.Key, Sections: map[string]askedBody{}, Tombstones: slices.Sorted(slices.Values(p.Tombstones))}
	if p.everything {
		a.Operation = "delete"
	}
	for section, body := range p.Bodies {
		a.Sections[section] = askedBody{p.digests[section], len(body)}
	}
	return a
}

// content is the hash of what the record is to hold, for one who publishes the
// same under another operation id.
func (p *Publication) content() [32]byte { return p.asked().hash() }

// fingerprint is the hash of what was asked.
func (p *Publication) fingerprint() [32]byte {
	a := p.asked()
	a.Expect = &askedExpectation{p.Expect.Revision, p.Expect.Absent, p.Expect.Digests, p.Expect.Fence}
	return a.hash()
}
