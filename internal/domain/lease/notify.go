package lease

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const (
	// notifyEvery is the least time between two notifications of this process on
	// one database: what grows meanwhile is told together. Each costs a commit,
	// and the cluster makes those of notifications one after the other.
	notifyEvery   = 5 * time.Millisecond
	notifyTimeout = time.Second
	// maxUntold bounds the worlds that wait to be told of. Those beyond it are left
	// to the others' polls.
	maxUntold = 1 << 14
)

// notifier tells other processes which journals have gone on, and hears it from
// them. It works behind the commit, and whatever becomes of a notification, the
// poll finds the same: a lost one costs latency and never an entry.
type notifier struct {
	process  uint64 // tells its own notifications from those of others
	hub      *hub
	outboxes map[*postgres.Database]*outbox
	metrics  followMetrics
	log      *slog.Logger
}

func newNotifier(router *postgres.Router, h *hub, log *slog.Logger) *notifier {
	n := &notifier{process: rand.Uint64(), hub: h, outboxes: map[*postgres.Database]*outbox{}, metrics: newFollowMetrics(), log: log}
	for _, db := range router.Databases() {
		n.outboxes[db] = &outbox{notifier: n, db: db, ends: map[worldKey]int64{}}
	}
	return n
}

// grew tells everybody of journals that have gone on, behind the commit. It never
// waits.
func (s *Service) grew(db *postgres.Database, tenant domain.TenantID, worlds ...*locked) {
	if len(worlds) == 0 {
		return
	}
	all := make([]grown, len(worlds))
	for i, w := range worlds {
		all[i] = grown{keyOf(tenant, w.ref), w.Position}
	}
	s.hub.tell(all...)
	s.notifier.outboxes[db].put(all)
}

// outbox is what others on a database have not been told yet. One notification is
// under way at a time.
type outbox struct {
	*notifier
	db *postgres.Database

	mu      sync.Mutex
	ends    map[worldKey]int64
	sending bool
}

func (o *outbox) put(all []grown) {
	if o.db.Pooled {
		return // nobody can listen
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, g := range all {
		if _, waits := o.ends[g.world]; waits || len(o.ends) < maxUntold {
			o.ends[g.world] = max(o.ends[g.world], g.end)
		}
	}
	if !o.sending {
		o.sending = true
		go o.send()
	}
}

// take gives what the next notification tells, or nothing when the sending ends.
func (o *outbox) take() (all []grown) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for world, end := range o.ends {
		if len(all) == maxTold {
			break
		}
		all = append(all, grown{world, end})
		delete(o.ends, world)
	}
	o.sending = len(all) > 0
	return all
}

// sqlNotify doesn't wait for the disk: what it tells is durable, and it need not
// be.
const sqlNotify = `SELECT set_config('synchronous_commit', 'off', true), pg_notify('` + channel + `', $1)`

func (o *outbox) send() {
	for {
		all := o.take()
		if len(all) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
		_, err := o.db.Pool.Exec(ctx, sqlNotify, message{o.process, all}.text())
		cancel()
		o.metrics.notified(err)
		time.Sleep(notifyEvery)
	}
}
