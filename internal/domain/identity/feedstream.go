package identity

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// stream is one number's part in a page of the feed.
type stream struct {
	number domain.Number
	after  int64 // the last sequence that the follower has seen
	end    int64 // the last that was committed; 0 if there never was any
	// restored is where the stream ended before its database was put back.
	restored int64
	part     int // how many events the page has room for

	events []Event
}

// rewound tells a follower that has seen what is not, or no longer, so.
func (st *stream) rewound() bool {
	return st.after > st.end || domain.Lost(st.after, st.end, st.restored)
}

// backlog is how many events at most wait for the follower.
func (st *stream) backlog() int64 { return st.end - st.after }

// next is where the follower goes on. A stream that gave less than its part has
// nothing left up to its end: what else stood there was removed.
func (st *stream) next() int64 {
	next := st.after
	if n := len(st.events); n > 0 {
		next = st.events[n-1].Sequence
	}
	if len(st.events) < st.part {
		return max(next, st.end)
	}
	return next
}

// onStreams works on streams on the databases where they lie, side by side.
func (s *Service) onStreams(streams []*stream, do func(*postgres.Database, []*stream) error) error {
	return onDatabases(streams, func(st *stream) *postgres.Database { return s.router.Database(st.number) }, do)
}

const sqlStreamEnds = `
SELECT s.ordinal, c.last, c.restored
  FROM unnest($2::smallint[]) WITH ORDINALITY AS s (number, ordinal)
 CROSS JOIN LATERAL (SELECT c.last, c.restored FROM event_counters c
                      WHERE c.tenant_id = $1 AND c.number = s.number LIMIT 1) c`

// readEnds reads how far each stream goes. All up to there is committed, since
// the counter's row was locked until it was.
func (s *Service) readEnds(ctx context.Context, db *postgres.Database, tenant domain.TenantID, streams []*stream) error {
	numbers := make([]int16, len(streams))
	for i, st := range streams {
		numbers[i] = int16(st.number)
	}
	e := s.entry(tenant, numbers)
	e.ReadOnly = true
	return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlStreamEnds, numbers).Query(func(rows pgx.Rows) error {
			var ordinal, last, restored int64
			_, err := pgx.ForEachRow(rows, []any{&ordinal, &last, &restored}, func() error {
				streams[ordinal-1].end, streams[ordinal-1].restored = last, restored
				return nil
			})
			return err
		})
		return nil
	})
}

const sqlReadStreams = `
SELECT s.ordinal, ` + eventColumns + `
  FROM unnest($2::smallint[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS s (number, after, part, ordinal)
 CROSS JOIN LATERAL (SELECT e.* FROM events e
                      WHERE e.tenant_id = $1 AND e.number = s.number AND e.sequence > s.after
                      ORDER BY e.sequence LIMIT s.part) e
 ORDER BY s.ordinal, e.sequence`

// readParts reads each stream's part of the page.
func (s *Service) readParts(ctx context.Context, db *postgres.Database, tenant domain.TenantID, streams []*stream) error {
	var numbers []int16
	var afters, parts []int64
	for _, st := range streams {
		numbers = append(numbers, int16(st.number))
		afters = append(afters, st.after)
		parts = append(parts, int64(st.part))
	}
	e := s.entry(tenant, numbers)
	e.ReadOnly = true
	return tenancy.Run(ctx, db, e, func(ctx context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlReadStreams, numbers, afters, parts).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var ordinal int64
				event, err := scanEvent(rows, &ordinal)
				if err != nil {
					return err
				}
				streams[ordinal-1].events = append(streams[ordinal-1].events, event)
			}
			return rows.Err()
		})
		return nil
	})
}
