package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// StockCount counts what tenants have on one data database, for their quotas.
type StockCount struct {
	Database string `json:"database"`
}

// Kind is the job's name in River's tables.
func (StockCount) Kind() string { return "stock_count" }

// InsertOpts: one job a database.
func (StockCount) InsertOpts() river.InsertOpts { return oneOnDatabase(queueStocks) }

const (
	// countStocksEvery is the time between two looks at which tenants are due.
	countStocksEvery = 15 * time.Second
	// countedTenants is how many of them a look finds.
	countedTenants = 64
)

// Stocks is what the job needs of limits.Counter.
type Stocks interface {
	// Due gives tenants whose count is due, the longest due first. A tenant that was
	// counted, or couldn't be, isn't due for a while.
	Due(ctx context.Context, database string, limit int) ([]domain.TenantID, error)
	Count(ctx context.Context, database string, tenant domain.TenantID) error
}

// stockCounter works it. Nothing is kept of a run but what it counted: whoever comes
// next finds the tenants that are due then.
type stockCounter struct {
	river.WorkerDefaults[StockCount]
	*sweeping
	stocks Stocks
	here   map[string]bool // databases with numbers
}

// Work does one run: the tenants that are due, one after the other.
func (w *stockCounter) Work(ctx context.Context, job *river.Job[StockCount]) error {
	database := job.Args.Database
	if !w.here[database] {
		return errNotHere(database)
	}
	run := w.newRun(database)
	for {
		due, err := w.stocks.Due(ctx, database, countedTenants)
		if err != nil {
			return err
		}
		if len(due) == 0 {
			return run.end(true)
		}
		for _, tenant := range due {
			if !run.mayGoOn(ctx) {
				return run.end(false)
			}
			run.steps++
			// One that was closed meanwhile is counted when it is open again.
			if err := w.stocks.Count(ctx, database, tenant); err != nil && domain.KindOf(err) != domain.KindForbidden {
				run.errs = append(run.errs, err)
			}
		}
	}
}
