package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// counters are totals since the servers started.
type counters struct {
	commits     float64 // transactions of the data database
	syncs       float64 // of the database server's log; NaN where it can't be told
	allocations float64 // of the API
	cpu         float64 // seconds that the API took; NaN where it can't be told
}

// Cost is what one operation of the product takes, and the most memory that the
// API has had meanwhile beyond what it had before any load.
type Cost struct {
	Commits, Syncs, Allocations float64
	CPU                         float64 // seconds of the API's; NaN where the system doesn't tell
	Memory                      int64   // bytes resident; 0 where the system doesn't tell
}

func (after counters) since(before counters, operations int) Cost {
	n := float64(max(operations, 1))
	return Cost{
		Commits:     (after.commits - before.commits) / n,
		Syncs:       (after.syncs - before.syncs) / n,
		Allocations: (after.allocations - before.allocations) / n,
		CPU:         (after.cpu - before.cpu) / n,
	}
}

const sqlCommits = `SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()`

// From PostgreSQL 18 on the log's syncs are counted with all other I/O.
const (
	sqlSyncs   = `SELECT wal_sync::float8 FROM pg_stat_wal`
	sqlSyncs18 = `SELECT coalesce(sum(fsyncs), 0)::float8 FROM pg_stat_io WHERE object = 'wal'`
)

func (s *stack) count(ctx context.Context) (c counters, err error) {
	var version int
	if err := s.owner.QueryRow(ctx, `SELECT current_setting('server_version_num')::int`).Scan(&version); err != nil {
		return c, err
	}
	syncs := sqlSyncs
	if version >= 180000 {
		syncs = sqlSyncs18
	}
	batch := &pgx.Batch{}
	batch.Queue(sqlCommits).QueryRow(func(row pgx.Row) error { return row.Scan(&c.commits) })
	batch.Queue(syncs).QueryRow(func(row pgx.Row) error { return row.Scan(&c.syncs) })
	if err := s.owner.SendBatch(ctx, batch).Close(); err != nil {
		return c, err
	}
	c.cpu = s.usage().cpu()
	c.allocations, err = s.allocations(ctx)
	return c, err
}

// mallocs is a line of Go's heap profile in its readable form.
var mallocs = regexp.MustCompile(`(?m)^# Mallocs = (\d+)$`)

func (s *stack) allocations(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.private.base+"/debug/pprof/heap?debug=1", nil)
	if err != nil {
		return 0, err
	}
	response, err := s.private.http.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	found := mallocs.FindSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("the API's heap profile doesn't say how much was allocated")
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// counted measures the cost of each round; the last one stays.
func (s *stack) counted(r round, cost *Cost) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		before, err := s.count(ctx)
		if err != nil {
			return Result{}, err
		}
		s.usage().forgetPeak()
		result, err := r(ctx, length)
		if err != nil {
			return result, err
		}
		memory := max(s.usage().peak()-s.idle, 0)
		after, err := s.count(ctx)
		*cost = after.since(before, result.Operations)
		cost.Memory = memory
		return result, err
	}
}
