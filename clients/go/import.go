package holdfast

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
)

// A request of an import has at most so many lines, and bytes before its last
// line: well within what the service takes, and done within a minute.
const (
	importLines = 1000
	importBytes = 4 << 20
)

// Import sends lines in as many requests as they need, and gives their results in
// the same order, numbered from 1 through all of them. A line that failed is a
// result like any other. An error comes last: behind it, lines that have no
// result may have been imported all the same, and it is safe to send them, or
// everything, again.
//
// It reads the lines of one request ahead. Breaking off the iteration sends no
// further ones.
func Import(ctx context.Context, client *ClientWithResponses, lines iter.Seq[ImportLine]) iter.Seq2[ImportResult, error] {
	return func(yield func(ImportResult, error) bool) {
		done := 0 // lines that were sent
		var batch []byte
		n := 0 // lines in it
		send := func() bool {
			results, err := importBatch(ctx, client, batch, n)
			if err != nil {
				yield(ImportResult{}, err)
				return false
			}
			for _, r := range results {
				if r.Line += done; !yield(r, nil) {
					return false
				}
			}
			done, batch, n = done+n, nil, 0
			return true
		}
		for line := range lines {
			text, err := json.Marshal(line)
			if err != nil {
				yield(ImportResult{}, fmt.Errorf("holdfast: line %d: %w", done+n+1, err))
				return
			}
			batch, n = append(append(batch, text...), '\n'), n+1
			if (n == importLines || len(batch) >= importBytes) && !send() {
				return
			}
		}
		if n > 0 {
			send()
		}
	}
}

// importBatch sends n lines in one request.
func importBatch(ctx context.Context, client *ClientWithResponses, lines []byte, n int) (results []ImportResult, err error) {
	response, err := SendImport(ctx, client, lines)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	for {
		var r ImportResult
		switch err := decoder.Decode(&r); {
		case err == nil:
			results = append(results, r)
		case err == io.EOF && len(results) == n:
			return results, nil
		default:
			return nil, fmt.Errorf("holdfast: %d results came of %d lines: %w", len(results), n, err)
		}
	}
}
