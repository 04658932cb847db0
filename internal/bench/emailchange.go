package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// pgbenchChange is an update of one row in a transaction, which a unique index
// must admit.
func pgbenchChange(rows int) string {
	return fmt.Sprintf(`\set n random(0, %d)
UPDATE bench_reference SET email = gen_random_uuid() || '@example.com' WHERE handle = 'reader-' || :n;
`, rows-1)
}

// changeEmail gives accounts address after address. Each caller has accounts of
// its own.
func (s *stack) changeEmail(accounts []string) round {
	var n atomic.Int64
	next := make([]int, changers)
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, changers, length, func(ctx context.Context, caller int) error {
			next[caller]++
			account := accounts[(next[caller]*changers+caller)%(len(accounts)/changers*changers)]
			changes := "/v1/accounts/" + account + "/email-changes"
			var change struct {
				ID   string `json:"id"`
				Code string `json:"code"`
			}
			body := []byte(`{"email":"moved-` + strconv.FormatInt(n.Add(1), 10) + `@example.com"}`)
			if err := s.tenant.call(ctx, http.MethodPost, changes, body, http.StatusCreated, &change); err != nil {
				return err
			}
			return s.tenant.call(ctx, http.MethodPost, changes+"/"+change.ID+"/confirm", []byte(`{"code":"`+change.Code+`"}`), http.StatusOK, nil)
		})
	}
}
