package domain

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

// ID is an RFC 9562 UUID that names a thing of one kind: the type parameter
// keeps an account's id from standing for a tenant's. Its text form is the
// canonical lower-case one and nothing else parses, so that an id has one
// spelling, and one partition.
type ID[Kind any] [16]byte

type (
	TenantID    = ID[TenantKind]
	PrincipalID = ID[PrincipalKind]
	KeyID       = ID[KeyKind]
	AccountID   = ID[AccountKind]
	DeviceID    = ID[DeviceKind]
	// ClientID names a tenant's public OAuth client (RFC 6749, section 2.1).
	ClientID = ID[ClientKind]
	// EmailChangeID names a pending change of an account's address.
	EmailChangeID = ID[EmailChangeKind]
	// CollectionID is in the keys of a collection's bodies. Its name is what callers use.
	CollectionID = ID[CollectionKind]
	// SnapshotID names a snapshot of a collection.
	SnapshotID = ID[SnapshotKind]
	// MigrationID names a migration of a tenant's bodies.
	MigrationID = ID[MigrationKind]
	// RunID names a stretch of work of a migration.
	RunID = ID[RunKind]
	// ReportID names a verification of what a migration did.
	ReportID = ID[ReportKind]
	// RecordID is the id of any record of the identity domain: an account, a device.
	RecordID = ID[RecordKind]
	// Token marks one operation of the claims protocol. It is random, and never
	// used again once it has left its rows.
	Token = ID[TokenKind]
)

// The kinds of ids. They have no values.
type (
	TenantKind      struct{}
	PrincipalKind   struct{}
	KeyKind         struct{}
	AccountKind     struct{}
	DeviceKind      struct{}
	ClientKind      struct{}
	EmailChangeKind struct{}
	RecordKind      struct{}
	CollectionKind  struct{}
	SnapshotKind    struct{}
	MigrationKind   struct{}
	RunKind         struct{}
	ReportKind      struct{}
	TokenKind       struct{}
)

// NewID makes a version 7 id: 48 bits of Unix milliseconds, then random bits.
func NewID[Kind any](now time.Time) ID[Kind] {
	var id ID[Kind]
	rand.Read(id[6:])
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id.stamp(7)
	return id
}

// RandomID makes a version 4 id: 122 random bits.
func RandomID[Kind any]() ID[Kind] {
	var id ID[Kind]
	rand.Read(id[:])
	id.stamp(4)
	return id
}

// DeriveID makes a version 8 id from a secret key and the parts that name the
// thing: the same parts give the same id, and nobody without the key can tell
// one. Parts are length-prefixed, so that no two lists of parts collide.
func DeriveID[Kind any](key []byte, parts ...string) ID[Kind] {
	var id ID[Kind]
	copy(id[:], DeriveSecret(key, parts...))
	id.stamp(8)
	return id
}

// DeriveSecret is the HMAC-SHA-256 of the parts, each prefixed by its length:
// 32 bytes. A secret that is shown once is derived, so that the retry of a
// lost answer gets the same one and only its hash need be stored.
func DeriveSecret(key []byte, parts ...string) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		n := uint32(len(part))
		mac.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		mac.Write([]byte(part))
	}
	return mac.Sum(nil)
}

func (id *ID[Kind]) stamp(version byte) {
	id[6] = id[6]&0x0f | version<<4
	id[8] = id[8]&0x3f | 0x80
}

// IsZero tells the absent id.
func (id ID[Kind]) IsZero() bool { return id == ID[Kind]{} }

func (id ID[Kind]) String() string {
	text := id.text()
	return string(text[:])
}

// MarshalText gives the 36 characters of the canonical form.
func (id ID[Kind]) MarshalText() ([]byte, error) {
	text := id.text()
	return text[:], nil
}

func (id ID[Kind]) text() (text [36]byte) {
	hex.Encode(text[0:8], id[0:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:36], id[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return text
}

// UnmarshalText is the inverse of MarshalText.
func (id *ID[Kind]) UnmarshalText(text []byte) error {
	parsed, err := ParseID[Kind](string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

var errNotID = errors.New("not a canonical UUID")

// ParseID reads the canonical form: 36 characters, lower case.
func ParseID[Kind any](s string) (ID[Kind], error) {
	var id ID[Kind]
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, errNotID
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return ID[Kind]{}, errNotID
	}
	if id.String() != s {
		return ID[Kind]{}, errNotID
	}
	return id, nil
}
