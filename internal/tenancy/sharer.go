package tenancy

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const (
	maxShared    = 256              // decisions a transaction
	maxWaiting   = 4096             // decisions that wait for the next one, unless Limit says otherwise
	maxUnderWay  = 2                // transactions at once, unless Limit says otherwise
	worthAnother = 16               // decisions that must wait for a second one to begin
	flushTimeout = 10 * time.Second // the role's own statement timeout comes first

	// patience is how long those that wait let a transaction hold them up: it may
	// be waiting for a row that somebody keeps locked.
	patience = 100 * time.Millisecond
	maxSlow  = 8 // transactions that have outlasted it, of one tenant on one database
)

// Sharer lets independent decisions of one tenant on one database share
// transactions: those that arrive while one is under way go out together in the
// next. That is what makes the commits of a busy tenant cheap, and it costs a
// lone caller nothing. A transaction that is slow, since it waits for a lock, holds
// up its own decisions and not those behind it.
//
// D is one decision: what is asked, and room for the answer, which decide fills
// in. Decisions never depend on one another's outcome, and a decision that is
// refused is an answer and not an error. When a shared transaction is rolled
// back as a whole, each of its decisions is made again alone, so that one can't
// fail its neighbours; decide must write every answer anew.
type Sharer[D any] struct {
	name   string
	tracer trace.Tracer
	shared sharedMetric
	limits Limits[D]
	decide func(ctx context.Context, db *postgres.Database, tenant domain.TenantID, decisions []*D) error

	mu     sync.Mutex
	queues map[queueKey]*queue[D]
}

type queueKey struct {
	db     *postgres.Database
	tenant domain.TenantID
}

type queue[D any] struct {
	waiting  []*pending[D]
	underWay int // transactions
	slow     int // those that have outlasted patience, and are not counted above
}

// flushing is one transaction that is under way.
type flushing struct{ done, slow bool }

type pending[D any] struct {
	decision *D
	ctx      context.Context // the caller's: its span, not its cancellation
	done     chan struct{}
	err      error
}

// NewSharer makes a sharer whose transactions are made by decide. The name is
// its span's, and one of few: it is a label of its metric.
func NewSharer[D any](name string, tracer trace.Tracer,
	decide func(ctx context.Context, db *postgres.Database, tenant domain.TenantID, decisions []*D) error) *Sharer[D] {
	return &Sharer[D]{name: name, tracer: tracer, shared: newSharedMetric(otel.GetMeterProvider(), name), limits: Limits[D]{UnderWay: maxUnderWay, Patience: patience}, decide: decide, queues: map[queueKey]*queue[D]{}}
}

// Limits bound the transactions of one tenant on one database.
type Limits[D any] struct {
	UnderWay int           // at once, but for those that have outlasted patience
	Patience time.Duration // how long one holds up those that wait
	Waiting  int           // decisions that wait for the next; the usual number if 0
	Weight   int           // of the decisions in one; a heavier decision goes alone
	Weigh    func(*D) int  // nil where decisions have no weight
}

// Limit sets other limits than the usual ones, before the first decision.
func (s *Sharer[D]) Limit(limits Limits[D]) *Sharer[D] {
	s.limits = limits
	return s
}

// Do makes the decisions, in shared transactions, and returns when all are made.
// They may end up in different transactions. The error is the first one's, in
// the order given. A caller that goes away leaves its decisions to be made: it
// gets ctx's error and must treat what they wrote as unknown.
func (s *Sharer[D]) Do(ctx context.Context, db *postgres.Database, tenant domain.TenantID, decisions ...*D) error {
	for _, err := range s.DoEach(ctx, db, tenant, decisions...) {
		if err != nil {
			return err
		}
	}
	return nil
}

// DoEach is Do with the error of each decision.
func (s *Sharer[D]) DoEach(ctx context.Context, db *postgres.Database, tenant domain.TenantID, decisions ...*D) []error {
	errs := make([]error, len(decisions))
	all, err := s.enqueue(ctx, queueKey{db, tenant}, decisions)
	for i := range errs {
		if err == nil {
			select {
			case <-all[i].done:
				errs[i] = all[i].err
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		errs[i] = err
	}
	return errs
}

func (s *Sharer[D]) enqueue(ctx context.Context, key queueKey, decisions []*D) ([]*pending[D], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[key]
	if q == nil {
		q = &queue[D]{}
		s.queues[key] = q
	}
	if len(q.waiting)+len(decisions) > cmp.Or(s.limits.Waiting, maxWaiting) {
		return nil, domain.Unavailable("overloaded", "Too many requests of this tenant are waiting. Try again.").After(time.Second)
	}
	all := make([]*pending[D], len(decisions))
	for i, d := range decisions {
		all[i] = &pending[D]{decision: d, ctx: ctx, done: make(chan struct{})}
	}
	q.waiting = append(q.waiting, all...)
	if q.underWay == 0 && q.slow < maxSlow || q.underWay > 0 && q.underWay < s.limits.UnderWay && len(q.waiting) >= worthAnother {
		q.underWay++
		go s.flush(key, q)
	}
	return all, nil
}

// flush sends what waits until nothing does. While one transaction is under way
// a second begins only when enough waits to be worth its own begin and commit,
// or when the first has outlasted patience.
func (s *Sharer[D]) flush(key queueKey, q *queue[D]) {
	for {
		batch := s.take(key, q)
		if batch == nil {
			return
		}
		f := &flushing{}
		outlasted := time.AfterFunc(s.limits.Patience, func() { s.outlast(key, q, f) })
		err := s.share(key, batch)
		outlasted.Stop()
		for _, p := range batch {
			if len(batch) > 1 && oneMayFailAll(err) {
				go func() { p.settle(s.share(key, []*pending[D]{p})) }()
				continue
			}
			p.settle(err)
		}
		if !s.goesOn(q, f) {
			return
		}
	}
}

// take gives the next transaction's decisions, or nil when the flush ends.
func (s *Sharer[D]) take(key queueKey, q *queue[D]) []*pending[D] {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.fitting(q.waiting)
	if n == 0 {
		q.underWay--
		if q.underWay == 0 && q.slow == 0 {
			delete(s.queues, key)
		}
		return nil
	}
	batch := slices.Clone(q.waiting[:n])
	clear(q.waiting[:n]) // what was decided is nobody's to keep
	q.waiting = q.waiting[n:]
	return batch
}

// fitting is how many of those that wait share the next transaction.
func (s *Sharer[D]) fitting(waiting []*pending[D]) int {
	n := min(len(waiting), maxShared)
	if s.limits.Weigh == nil {
		return n
	}
	weight := 0
	for i, p := range waiting[:n] {
		if weight += s.limits.Weigh(p.decision); weight > s.limits.Weight {
			return max(i, 1)
		}
	}
	return n
}

// outlast no longer counts a transaction that has outlasted patience, and lets
// those that wait go out beside it.
func (s *Sharer[D]) outlast(key queueKey, q *queue[D], f *flushing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.done {
		return
	}
	f.slow = true
	q.underWay--
	q.slow++
	if len(q.waiting) > 0 && q.underWay == 0 && q.slow < maxSlow {
		q.underWay++
		go s.flush(key, q)
	}
}

// goesOn tells a flush whose transaction has ended whether it sends the next: not
// if it was slow and another has taken its place.
func (s *Sharer[D]) goesOn(q *queue[D], f *flushing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.done = true
	if !f.slow {
		return true
	}
	q.slow--
	if q.underWay > 0 {
		return false
	}
	q.underWay++
	return true
}

func (p *pending[D]) settle(err error) {
	p.err = err
	close(p.done)
}

// oneMayFailAll tells a failure that rolled everything back and that a single
// decision may have caused: a closed number, a row that somebody holds, a value
// that PostgreSQL refuses.
func oneMayFailAll(err error) bool {
	switch domain.CodeOf(err) {
	case "partition_unavailable", "database_busy":
		return true
	default:
		return err != nil && domain.KindOf(err) == domain.KindInternal
	}
}

// share makes one transaction. Its span is a child of the first caller's and
// linked to the others'.
func (s *Sharer[D]) share(key queueKey, batch []*pending[D]) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(batch[0].ctx), flushTimeout)
	defer cancel()
	var links []trace.Link
	if trace.SpanFromContext(ctx).IsRecording() {
		for _, p := range batch[1:] {
			links = append(links, trace.LinkFromContext(p.ctx))
		}
	}
	ctx, span := s.tracer.Start(ctx, s.name, trace.WithLinks(links...))
	defer span.End()
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("holdfast.decisions", len(batch)), attribute.String("holdfast.database", key.db.Name),
			attribute.String("holdfast.tenant_id", key.tenant.String()))
	}

	decisions := make([]*D, len(batch))
	for i, p := range batch {
		decisions[i] = p.decision
	}
	s.shared.flushed(ctx, len(batch))
	err := s.decide(ctx, key.db, key.tenant, decisions)
	markFailed(span, err)
	return err
}
