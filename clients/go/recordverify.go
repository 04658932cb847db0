package holdfast

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// digestOf is the digest of a body.
func digestOf(body []byte) Digest {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// verifyBody holds a body to its metadata.
func verifyBody(key ItemKey, section SectionName, digest *Digest, length int64, body *Body) error {
	if digest == nil || body == nil {
		return &UnverifiedBodyError{Key: key, Section: section, Reason: errors.New("it was left out")}
	}
	if int64(len(*body)) != length {
		return &UnverifiedBodyError{key, section, *digest, fmt.Errorf("it has %d bytes and not %d", len(*body), length)}
	}
	if digestOf(*body) != *digest {
		return &UnverifiedBodyError{key, section, *digest, errOtherBytes}
	}
	return nil
}

var errOtherBytes = errors.New("its bytes are not those of its digest")

// verifySections holds the bodies of a record's live sections to its metadata.
func verifySections(r *Record) error {
	for name, s := range r.Sections {
		if !s.Live {
			continue
		}
		if err := verifyBody(r.Key, name, s.Digest, s.Length, s.Body); err != nil {
			return err
		}
	}
	return nil
}

// taggedDigest is the digest that a body's ETag is made of; "" where it has another.
// Something in between may have made the tag a weak one.
func taggedDigest(h http.Header) Digest {
	digest := strings.Trim(strings.TrimPrefix(h.Get("ETag"), "W/"), `"`)
	if _, err := hex.DecodeString(digest); err != nil || len(digest) != 2*sha256.Size {
		return ""
	}
	return digest
}

// bodyTag is the ETag of a body.
func bodyTag(digest Digest) string { return `"` + digest + `"` }
