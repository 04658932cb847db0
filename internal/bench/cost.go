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
	allocations float64 // of the process
	cpu         float64 // seconds that it took; NaN where it can't be told
}

// Cost is what one operation of the product takes, and the most memory that the
// process has had meanwhile beyond what it had before any load: the API, or for
// migrations the worker.
type Cost struct {
	Commits, Syncs, Allocations float64
	CPU                         float64 // seconds of the process's; NaN where the system doesn't tell
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

// count counts what the databases and a process have done.
func (s *stack) count(ctx context.Context, of *observed) (c counters, err error) {
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
	c.cpu = of.usage().cpu()
	c.allocations, err = of.allocations(ctx)
	return c, err
}

// mallocs is a line of Go's heap profile in its readable form.
var mallocs = regexp.MustCompile(`(?m)^# Mallocs = (\d+)$`)

func (o *observed) allocations(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.private.base+"/debug/pprof/heap?debug=1", nil)
	if err != nil {
		return 0, err
	}
	response, err := o.private.http.Do(request)
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
		return 0, fmt.Errorf("the process's heap profile doesn't say how much was allocated")
	}
	return strconv.ParseFloat(string(found[1]), 64)
}

// counted measures the cost of each round; the last one stays.
func (s *stack) counted(r round, cost *Cost) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		before, err := s.count(ctx, s.api)
		if err != nil {
			return Result{}, err
		}
		s.api.usage().forgetPeak()
		result, err := r(ctx, length)
		if err != nil {
			return result, err
		}
		memory := max(s.api.usage().peak()-s.api.idle, 0)
		after, err := s.count(ctx, s.api)
		*cost = after.since(before, result.Operations)
		cost.Memory = memory
		return result, err
	}
}
