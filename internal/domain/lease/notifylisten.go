package lease

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

const (
	minListenPause = 100 * time.Millisecond // before a listener connects again,
	maxListenPause = 15 * time.Second       // and after several failures
	// checkEvery is how long a listener believes a silent connection.
	checkEvery    = 30 * time.Second
	listenTimeout = 5 * time.Second
)

// Run hears from other processes which journals have gone on, until ctx ends, and
// returns nil then. It has one connection of its own to each database, outside of
// the pool. Without it, while such a connection is down, and behind a
// transaction-mode pooler, where nobody can listen, followers of a journal find
// what others wrote when they poll.
func (s *Service) Run(ctx context.Context) error {
	var all errgroup.Group
	for _, db := range s.router.Databases() {
		if !db.Pooled && len(db.Numbers) > 0 {
			all.Go(func() error { s.listen(ctx, db); return nil })
		}
	}
	return all.Wait()
}

// listen keeps a listener on the database.
func (s *Service) listen(ctx context.Context, db *postgres.Database) {
	pause := minListenPause
	for {
		began := time.Now()
		err := s.hear(ctx, db)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxListenPause {
			pause = minListenPause
		}
		s.notifier.log.WarnContext(ctx, "notifications of journals are not heard; their followers poll", "database", db.Name, "error", err)
		if !sleep(ctx, spread(pause)) {
			return
		}
		pause = min(2*pause, maxListenPause)
	}
}

// hear listens on a connection until that fails or ctx ends.
func (s *Service) hear(ctx context.Context, db *postgres.Database) error {
	conn, err := s.startListening(ctx, db)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(ctx)
	}()
	s.poller.hasten() // what was told before is lost
	for {
		quiet, cancel := context.WithTimeout(ctx, checkEvery)
		heard, err := conn.WaitForNotification(quiet)
		cancel()
		switch {
		case err == nil:
			s.notifier.heard(heard.Payload)
			continue
		case ctx.Err() != nil || conn.IsClosed():
			return err
		}
		ask, cancel := context.WithTimeout(ctx, listenTimeout)
		err = conn.Ping(ask)
		cancel()
		if err != nil {
			return err
		}
	}
}

func (s *Service) startListening(ctx context.Context, db *postgres.Database) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	config := db.Pool.Config().ConnConfig
	config.RuntimeParams["application_name"] += " listener"
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

// heard wakes the followers of what another process tells. What can't be read is
// of another build, and left to the poll.
func (n *notifier) heard(payload string) {
	if m, ok := parseMessage(payload); ok && m.process != n.process {
		n.hub.tell(m.grown...)
	}
}

// spread keeps processes that begin together from going on in step.
func spread(d time.Duration) time.Duration { return d/2 + rand.N(d) }

// sleep tells whether it slept to the end.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
