package httpapi

import (
	"crypto/hmac"
	"encoding/base64"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// cursors makes and reads the opaque positions of lists. A cursor is the
// position and an HMAC of it under a server key, in base64url; the HMAC also
// covers what the position is good for, so that a cursor of one tenant, list or
// filter is refused for another.
type cursors struct {
	keys [][]byte // the first seals; all open, while keys rotate
}

// cursorTag is the length of the truncated HMAC in bytes. 128 bits can't be
// guessed.
const cursorTag = 16

func newCursors(secrets [][]byte) cursors {
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		keys[i] = domain.DeriveSecret(secret, "list-cursor")
	}
	return cursors{keys}
}

// listing says what a cursor is good for.
type listing struct {
	tenant domain.TenantID // whose list it is
	name   string          // which list
	filter string          // in one spelling
}

func (c cursors) seal(l listing, position []byte) string {
	tag := l.tag(c.keys[0], position)
	return base64.RawURLEncoding.EncodeToString(append(position[:len(position):len(position)], tag...))
}

// open gives the position. Whatever seal didn't make for this listing is invalid.
func (c cursors) open(l listing, cursor string) ([]byte, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	// Decoding forgives line breaks and stray bits; there is one spelling.
	if err != nil || len(sealed) < cursorTag || base64.RawURLEncoding.EncodeToString(sealed) != cursor {
		return nil, errCursor()
	}
	position, tag := sealed[:len(sealed)-cursorTag], sealed[len(sealed)-cursorTag:]
	for _, key := range c.keys {
		if hmac.Equal(tag, l.tag(key, position)) {
			return position, nil
		}
	}
	return nil, errCursor()
}

func (l listing) tag(key, position []byte) []byte {
	return domain.DeriveSecret(key, l.tenant.String(), l.name, l.filter, string(position))[:cursorTag]
}

func errCursor() error {
	return domain.Invalid("cursor_invalid",
		"The cursor is not one that this list gave, for this tenant and these filters. Begin again without it.").At("?cursor")
}
