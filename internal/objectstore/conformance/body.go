package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Codes of the adapter's errors.
const (
	isMissing = "object_missing"
	isCorrupt = "object_corrupt"
)

// body is a body with its key and digest.
type body struct {
	key    string
	bytes  []byte
	digest [32]byte
}

func (p Place) body(content []byte) body {
	digest := sha256.Sum256(content)
	return body{p.Prefix + hex.EncodeToString(digest[:]), content, digest}
}

// random is a body of so many bytes that nobody else has.
func (p Place) random(size int) body {
	content := make([]byte, size)
	rand.Read(content)
	return p.body(content)
}

func (p Place) ensure(ctx context.Context, x body, likely bool) (bool, error) {
	return p.Store.Ensure(ctx, x.key, x.bytes, x.digest, likely)
}

// store stores a body, which must be new.
func (p Place) store(ctx context.Context, x body) error {
	uploaded, err := p.ensure(ctx, x, false)
	if err != nil || !uploaded {
		return fmt.Errorf("a new body of %d bytes: uploaded %t, %w", len(x.bytes), uploaded, orNothing(err))
	}
	return nil
}

// same reads a body back.
func (p Place) same(ctx context.Context, x body) error {
	got, err := p.Store.Fetch(ctx, x.key, x.digest, int64(len(x.bytes)))
	if err != nil || !bytes.Equal(got, x.bytes) {
		return fmt.Errorf("the body came back as %d bytes, not the %d that went: %w", len(got), len(x.bytes), orNothing(err))
	}
	return nil
}

// fails holds an error to a code.
func fails(err error, code string) error {
	if domain.KindOf(err) != domain.KindUnavailable || domain.CodeOf(err) != code {
		return fmt.Errorf("it should fail with %s: %w", code, orNothing(err))
	}
	return nil
}

// nothing is what stands in a text where no error does.
type nothing struct{}

func (nothing) Error() string { return "no error" }

func orNothing(err error) error {
	if err == nil {
		return nothing{}
	}
	return err
}
