package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	importLines = 2_000 // a request
	importers   = 2
)

// importing counts lines: each makes an account with handle and email.
func (s *stack) importing() round {
	var n atomic.Int64
	return func(ctx context.Context, length time.Duration) (Result, error) {
		result, err := closedLoop(ctx, importers, length, func(ctx context.Context, _ int) error {
			answer, err := s.tenant.send(ctx, "/v1/accounts/import", mediaLines, importFile(&n), http.StatusOK)
			if err != nil {
				return err
			}
			if created := bytes.Count(answer, []byte(`"created"`)); created != importLines {
				return fmt.Errorf("%d of %d lines were created", created, importLines)
			}
			return nil
		})
		result.Operations *= importLines
		return result, err
	}
}

func importFile(n *atomic.Int64) []byte {
	var file bytes.Buffer
	for range importLines {
		name := "import-" + strconv.FormatInt(n.Add(1), 10)
		file.WriteString(`{"key":"` + name + `","account":{"handle":"` + name + `","email":"` + name + `@example.com","display_name":"A person"}}` + "\n")
	}
	return file.Bytes()
}
