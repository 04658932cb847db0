package objectstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Fetch reads the object at key, of which digest and length are known, and
// returns its bytes once they are all there and right. It fails with
// object_missing, object_corrupt or object_store_unavailable.
func (b *Bucket) Fetch(ctx context.Context, key string, digest [32]byte, length int64) ([]byte, error) {
	body := make([]byte, length)
	err := b.read(ctx, key, length, func(r io.Reader) error {
		if _, err := io.ReadFull(r, body); err != nil {
			return tooShort(err)
		}
		if sha256.Sum256(body) != digest {
			return corruption("its digest is another one")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// verify reads the object at key and returns nil if it is exactly body.
func (b *Bucket) verify(ctx context.Context, key string, body []byte) error {
	return b.read(ctx, key, int64(len(body)), func(r io.Reader) error { return compare(r, body) })
}

// read has the first length bytes of the object at key looked at, and sees to it
// that there are no more.
func (b *Bucket) read(ctx context.Context, key string, length int64, look func(io.Reader) error) error {
	return b.repeat(ctx, getObject, key, func(ctx context.Context) error {
		answer, err := b.wire.get(ctx, key)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		// Without a Content-Length nothing tells a short object from an answer that
		// was cut off: what is read decides, and is read again if it is too short.
		if announced := answer.ContentLength; announced >= 0 && announced != length {
			return corruption(fmt.Sprintf("it is %d bytes long, not %d", announced, length))
		}
		if err := look(answer.Body); err != nil {
			return err
		}
		return atEnd(answer.Body)
	})
}

// chunks are compared one after the other, so that no body is held twice.
type chunk [32 << 10]byte

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// compare reads as many bytes as body has.
func compare(r io.Reader, body []byte) error {
	buffer := chunks.Get().(*chunk)
	defer chunks.Put(buffer)
	for len(body) > 0 {
		n, err := io.ReadAtLeast(r, buffer[:min(len(buffer), len(body))], 1)
		if err != nil {
			return tooShort(err)
		}
		if !bytes.Equal(buffer[:n], body[:n]) {
			return corruption("its bytes are others")
		}
		body = body[n:]
	}
	return nil
}

// tooShort is the error of an answer that ended before its time. An end without
// an error is one too.
func tooShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// atEnd reads the end of an answer, which also frees its connection for others.
func atEnd(r io.Reader) error {
	var more [1]byte
	switch n, err := io.ReadFull(r, more[:]); {
	case n > 0:
		return corruption("it is longer than it should be")
	case errors.Is(err, io.EOF):
		return nil
	default:
		return err
	}
}

func isMissing(err error) bool { return domain.CodeOf(err) == errMissing.Code }
