package tenancy_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// question is a decision whose answer shows whose it was.
type question struct {
	asked    int
	answered int
}

// deciders stand in for a database: they answer each question with its double,
// and keep what was asked in each transaction.
type deciders struct {
	begin  chan struct{} // each transaction takes one before it ends; nil for no waiting
	refuse func(asked []int) error

	mu           sync.Mutex
	transactions [][]int
}

func (d *deciders) decide(ctx context.Context, _ *postgres.Database, _ domain.TenantID, all []*question) error {
	asked := make([]int, len(all))
	for i, q := range all {
		asked[i] = q.asked
	}
	d.mu.Lock()
	d.transactions = append(d.transactions, asked)
	d.mu.Unlock()
	if d.begin != nil {
		<-d.begin
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.refuse != nil {
		if err := d.refuse(asked); err != nil {
			return err
		}
	}
	for _, q := range all {
		q.answered = 2 * q.asked
	}
	return nil
}

func (d *deciders) sizes() (sizes []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, asked := range d.transactions {
		sizes = append(sizes, len(asked))
	}
	return sizes
}

func newSharer(d *deciders) *tenancy.Sharer[question] {
	return tenancy.NewSharer("test", noop.NewTracerProvider().Tracer(""), d.decide)
}

// callers ask one sharer for one tenant on one database, each in a goroutine of
// its own.
type callers struct {
	sharer *tenancy.Sharer[question]
	db     *postgres.Database
	tenant domain.TenantID

	all  sync.WaitGroup
	mu   sync.Mutex
	errs map[int]error // by what was asked
}

func newCallers(d *deciders) *callers {
	return &callers{sharer: newSharer(d), db: &postgres.Database{Name: "data1"}, errs: map[int]error{}}
}

// ask makes one caller ask a question.
func (c *callers) ask(ctx context.Context, t *testing.T, asked int) {
	c.all.Go(func() {
		q := &question{asked: asked}
		err := c.sharer.Do(ctx, c.db, c.tenant, q)
		if err == nil && q.answered != 2*asked {
			t.Errorf("%d was answered with %d", asked, q.answered)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.errs[asked] = err
	})
}

// wait gives the callers' errors, by what they asked.
func (c *callers) wait() map[int]error {
	c.all.Wait()
	return c.errs
}

// underWay has one transaction begin, and the questions arrive while it goes on.
func (c *callers) underWay(t *testing.T, asked ...int) {
	c.ask(t.Context(), t, 0)
	synctest.Wait()
	c.more(t, asked...)
}

// more has questions arrive, and waits until nobody can go on.
func (c *callers) more(t *testing.T, asked ...int) {
	for _, q := range asked {
		c.ask(t.Context(), t, q)
	}
	synctest.Wait()
}

func upTo(n int) []int { return numbersFrom(1, n) }

// numbersFrom are n numbers, each one more than the one before.
func numbersFrom(first, n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, first+i)
	}
	return numbers
}
