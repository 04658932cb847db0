package lease

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	// maxIdleRounds is how many rounds a journal that doesn't go on is looked at
	// once in.
	maxIdleRounds = 8
	maxLooked     = 1000 // worlds in one transaction
	lookTimeout   = 10 * time.Second
)

// poller looks now and then at where followed journals end, since notifications
// may be lost. What it costs depends on how many worlds are followed, not on how
// many follow: those of one tenant on one database are looked at together, each
// round while they go on, and in every eighth when they don't.
type poller struct {
	router *postgres.Router
	entry  func(domain.TenantID, ...domain.Number) tenancy.Entry
	hub    *hub
	every  time.Duration

	mu     sync.Mutex
	rounds map[roundKey]*round
}

func newPoller(router *postgres.Router, entry func(domain.TenantID, ...domain.Number) tenancy.Entry, h *hub, every time.Duration) *poller {
	return &poller{router: router, entry: entry, hub: h, every: every, rounds: map[roundKey]*round{}}
}

type roundKey struct {
	db     *postgres.Database
	tenant domain.TenantID
}

// round is the followed worlds of one tenant on one database. Its timer calls for
// the next look, and is not set while one is under way.
type round struct {
	worlds map[worldRef]*followed
	timer  *time.Timer
}

type followed struct {
	followers int
	end       int64 // of the journal, when it was last looked at
	every     int   // rounds from look to look
	left      int   // rounds until the next
}

// follow has the world looked at until stop is called.
func (p *poller) follow(tenant domain.TenantID, world worldRef) (stop func()) {
	key := roundKey{p.router.Database(world.number), tenant}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.rounds[key]
	if r == nil {
		r = &round{worlds: map[worldRef]*followed{}}
		p.rounds[key] = r
		r.timer = time.AfterFunc(rand.N(p.every), func() { p.look(key, r) })
	}
	if r.worlds[world] == nil {
		r.worlds[world] = &followed{every: 1}
	}
	r.worlds[world].followers++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.worlds[world].followers--; r.worlds[world].followers == 0 {
			delete(r.worlds, world)
		}
		if len(r.worlds) == 0 && p.rounds[key] == r {
			delete(p.rounds, key)
			r.timer.Stop()
		}
	}
}

// hasten has all followed journals looked at in the next round.
func (p *poller) hasten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.rounds {
		for _, f := range r.worlds {
			f.left = 0
		}
	}
}

// look looks at the journals that are due, and wakes the followers of those that
// have gone on.
func (p *poller) look(key roundKey, r *round) {
	for worlds := range slices.Chunk(p.due(key, r), maxLooked) {
		p.lookAt(key, r, worlds)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.rounds[key] == r {
		r.timer.Reset(p.every*9/10 + rand.N(p.every/5))
	}
}

// due are the worlds that are to be looked at now: whose turn it is, or which have
// gone on since the last look as far as anybody told.
func (p *poller) due(key roundKey, r *round) (worlds []worldRef) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for world, f := range r.worlds {
		if told, _ := p.hub.told(keyOf(key.tenant, world)); told > f.end {
			f.every, f.left = 1, 0
		}
		if f.left--; f.left < 0 {
			worlds = append(worlds, world)
		}
	}
	slices.SortFunc(worlds, func(a, b worldRef) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.id, b.id)) })
	return worlds
}

// lookAt looks at worlds in the order of their numbers. If that can't be done, the
// next round tries again, but whoever is refused must be told why.
func (p *poller) lookAt(key roundKey, r *round, worlds []worldRef) {
	found, err := p.ends(key, worlds)
	switch {
	case domain.CodeOf(err) == "partition_unavailable" && worlds[0].number != worlds[len(worlds)-1].number:
		for len(worlds) > 0 { // not all are closed, it may be
			n := worlds[0].number
			behind := slices.IndexFunc(worlds, func(w worldRef) bool { return w.number != n })
			if behind < 0 {
				behind = len(worlds)
			}
			p.lookAt(key, r, worlds[:behind])
			worlds = worlds[behind:]
		}
	case domain.KindOf(err) == domain.KindForbidden:
		p.doubt(key, worlds)
	case err == nil:
		p.tell(key, r, worlds, found)
	}
}

func (p *poller) doubt(key roundKey, worlds []worldRef) {
	for _, world := range worlds {
		p.hub.doubt(keyOf(key.tenant, world))
	}
}

// tell takes note of where the journals end. A world that is gone has no end.
func (p *poller) tell(key roundKey, r *round, worlds []worldRef, ends map[worldRef]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, world := range worlds {
		f, end := r.worlds[world], ends[world]
		switch {
		case f == nil: // nobody follows it any more
			continue
		case end == 0:
			p.hub.doubt(keyOf(key.tenant, world))
		case end > f.end:
			f.every = 1
		default:
			f.every = min(2*f.every, maxIdleRounds)
		}
		f.end, f.left = end, f.every-1
		p.hub.tell(grown{keyOf(key.tenant, world), end})
	}
}

const sqlReadEnds = `
SELECT p.ordinal, w.position
  FROM unnest($2::smallint[], $3::text[]) WITH ORDINALITY AS p (number, world_id, ordinal)
 CROSS JOIN LATERAL (SELECT w.position FROM worlds w
                      WHERE w.tenant_id = $1 AND w.number = p.number AND w.world_id = p.world_id AND NOT w.retired LIMIT 1) w`

// ends gives the positions of the journals' last entries, without worlds that are
// gone.
func (p *poller) ends(key roundKey, worlds []worldRef) (map[worldRef]int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	var distinct []domain.Number
	numbers, ids := make([]int16, len(worlds)), make([]string, len(worlds))
	for i, w := range worlds {
		numbers[i], ids[i] = int16(w.number), w.id
		if n := len(distinct); n == 0 || distinct[n-1] != w.number {
			distinct = append(distinct, w.number)
		}
	}
	e := p.entry(key.tenant, distinct...)
	e.ReadOnly = true
	found := make(map[worldRef]int64, len(worlds))
	err := tenancy.Run(ctx, key.db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlReadEnds, numbers, ids).Query(func(rows pgx.Rows) error {
			var ordinal, position int64
			_, err := pgx.ForEachRow(rows, []any{&ordinal, &position}, func() error {
				found[worlds[ordinal-1]] = position
				return nil
			})
			return err
		})
		return nil
	})
	return found, err
}
