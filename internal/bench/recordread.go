package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// readAny reads random ones of the paths, each of whose answers is so many bytes.
func (c *client) readAny(paths []string, callers, size int) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return c.overWires(ctx, callers, length, func(w *wire, _ int) error {
			w.head = c.appendHead(w.head[:0], http.MethodGet, paths[rand.IntN(len(paths))], "")
			if err := w.call(w.head, nil, http.StatusOK); err != nil {
				return err
			}
			if w.answer.Len() != size {
				return fmt.Errorf("a body of %d bytes has %d", size, w.answer.Len())
			}
			return nil
		})
	}
}

// readBodies reads random bodies of a collection.
func (s *stack) readBodies(from collection, keys []string, callers, size int) round {
	paths := make([]string, len(keys))
	for i, key := range keys {
		paths[i] = from.body(key)
	}
	return s.tenant.readAny(paths, callers, size)
}

// export reads pages of a collection's export, each of a random place, and counts
// records. The collection has so many, of one section each, and no other changes.
func (s *stack) export(from collection, records int, query string) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		result, err := s.tenant.overWires(ctx, exporters, length, func(w *wire, _ int) error {
			path := from.path() + "/export?limit=" + strconv.Itoa(exportSize) + "&after=" + strconv.Itoa(rand.IntN(records-exportSize+1)) + query
			w.head = s.tenant.appendHead(w.head[:0], http.MethodGet, path, "")
			if err := w.call(w.head, nil, http.StatusOK); err != nil {
				return err
			}
			if n := bytes.Count(w.answer.Bytes(), []byte(`"key":`)); n != exportSize {
				return fmt.Errorf("a page of %d records has %d", exportSize, n)
			}
			return nil
		})
		result.Operations *= exportSize
		return result, err
	}
}
