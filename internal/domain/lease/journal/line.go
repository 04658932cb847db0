package journal

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendJSON appends the entry as the API gives it, without a line feed:
//
//	{"position":1,"epoch":1,"kind":"…","actor":{…},"entry_id":"…","at":"…","details":{…},
//	 "payload":"base64","digest":"hex","hash":"hex"}
//
// with json, the value itself, in the place of payload where the format says so,
// and neither where the entry isn't a tenant's.
func (e *Entry) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"position":`...)
	dst = strconv.AppendInt(dst, e.Position, 10)
	dst = append(dst, `,"epoch":`...)
	dst = strconv.AppendInt(dst, e.Epoch, 10)
	dst = appendMember(dst, `,"kind":`, string(e.Kind))
	dst = append(dst, `,"actor":`...)
	dst = e.Actor.appendJSON(dst)
	if e.EntryID != "" {
		dst = appendMember(dst, `,"entry_id":`, e.EntryID)
	}
	dst = append(dst, `,"at":"`...)
	dst = appendTime(dst, e.At)
	dst = append(dst, `","details":`...)
	dst = append(dst, e.Details...)
	dst = e.appendPayload(dst)
	digest := e.Digest()
	dst = append(dst, `,"digest":"`...)
	dst = hex.AppendEncode(dst, digest[:])
	dst = append(dst, `","hash":"`...)
	dst = hex.AppendEncode(dst, e.Hash[:])
	return append(dst, `"}`...)
}

func (e *Entry) appendPayload(dst []byte) []byte {
	switch {
	case e.Kind != KindEntry:
		return dst
	case string(e.Details) == writtenJSON:
		return append(append(dst, `,"json":`...), e.Payload...)
	default:
		dst = append(dst, `,"payload":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, e.Payload)
		return append(dst, '"')
	}
}

// line is an entry as the API gives it.
type line struct {
	Position int64          `json:"position"`
	Epoch    int64          `json:"epoch"`
	Kind     Kind           `json:"kind"`
	Actor    Actor          `json:"actor"`
	EntryID  string         `json:"entry_id"`
	At       Time           `json:"at"`
	Details  jsontext.Value `json:"details"`
	Payload  *[]byte        `json:"payload"`
	JSON     jsontext.Value `json:"json"`
	Digest   Hash           `json:"digest"`
	Hash     Hash           `json:"hash"`
}

// ParseLine is the inverse of AppendJSON; it takes the JSON in any spelling, with
// no member that an entry doesn't have: nothing vouches for one. It checks the
// digest. The hash and the rules of the journal are for Apply.
func ParseLine(text []byte) (Entry, error) {
	var l line
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return Entry{}, misread("an entry", err)
	}
	e := Entry{
		Position: l.Position, Epoch: l.Epoch, Kind: l.Kind, Actor: l.Actor, EntryID: l.EntryID,
		At: time.Time(l.At), Hash: l.Hash,
	}
	var err error
	if e.Details, err = CanonicalJSON(l.Details); err != nil {
		return Entry{}, errors.New("the details are not JSON that has a canonical form")
	}
	if e.Payload, err = l.payload(string(e.Details)); err != nil {
		return Entry{}, err
	}
	if l.Digest != e.Digest() {
		return Entry{}, errors.New("the digest is not that of the payload")
	}
	return e, nil
}

// payload gives the bytes that are hashed.
func (l *line) payload(details string) ([]byte, error) {
	asJSON := l.Kind == KindEntry && details == writtenJSON
	asBytes := l.Kind == KindEntry && !asJSON
	switch {
	case (l.JSON != nil) != asJSON || (l.Payload != nil) != asBytes:
		return nil, errors.New("the payload is missing, or is there in another way than the details say")
	case asBytes:
		return *l.Payload, nil
	case asJSON:
		canonical, err := CanonicalJSON(l.JSON)
		if err != nil {
			return nil, errors.New("the payload is not JSON that has a canonical form")
		}
		return canonical, nil
	default:
		return nil, nil
	}
}

// misread says where a text isn't what it should be, if it is JSON at all.
func misread(what string, err error) error {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) && semantic.JSONPointer != "" {
		return fmt.Errorf("%s has no such member, or not with such a value: %q", what, semantic.JSONPointer)
	}
	return fmt.Errorf("it is not the JSON object of %s, in valid UTF-8 and each member once", what)
}
