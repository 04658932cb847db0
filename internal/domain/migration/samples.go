package migration

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// samplesKept is for how long samples are kept: for more than the hour over which a
// pace goes, so that there is one before it.
const samplesKept = 2 * time.Hour

const (
	sqlSample = `
INSERT INTO migration_samples (tenant_id, migration_id, at, records, bytes)
VALUES ($1, $2, clock_timestamp(), $3, $4)
ON CONFLICT (tenant_id, migration_id, at) DO NOTHING`
	sqlForgetSamples = `
DELETE FROM migration_samples s WHERE s.tenant_id = $1 AND s.migration_id = $2 AND s.at < now() - $3::interval`
)

// sample notes how far a migration is, so that its pace is known, and forgets what
// is no longer needed for that.
//
// Errors: unavailable.
func (s *Service) sample(ctx context.Context, m *Migration, total Counters) error {
	return s.control.ControlTx(ctx, m.Tenant, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(sqlSample, m.Tenant, m.ID, total.Moved, total.Bytes)
		batch.Queue(sqlForgetSamples, m.Tenant, m.ID, samplesKept)
		return tx.SendBatch(ctx, batch).Close()
	})
}

// sqlPace compares what there is now with a sample: the last one before a stretch
// of time, or the first one in it. A migration that rested has no samples of that
// time, so that its pace falls meanwhile, as it should.
const sqlPace = `
SELECT ($3 - s.records)::float8 / s.seconds, ($4 - s.bytes)::float8 / s.seconds
  FROM (SELECT s.records, s.bytes, extract(epoch FROM now() - s.at)::float8 AS seconds
          FROM ((SELECT s.at, s.records, s.bytes FROM migration_samples s
                  WHERE s.tenant_id = $1 AND s.migration_id = $2 AND s.at <= now() - $5::interval ORDER BY s.at DESC LIMIT 1)
                UNION ALL
                (SELECT s.at, s.records, s.bytes FROM migration_samples s
                  WHERE s.tenant_id = $1 AND s.migration_id = $2 AND s.at > now() - $5::interval ORDER BY s.at LIMIT 1)) s
         ORDER BY s.at LIMIT 1) s
 WHERE s.seconds >= $6`

// leastTime, in seconds, is what a pace goes over at least.
const leastTime = 5

// queuePace reads how fast a migration has come to where it is.
func queuePace(batch *pgx.Batch, m *Migration, total *Counters, over time.Duration, into **Pace) {
	batch.Queue(sqlPace, m.Tenant, m.ID, total.Moved, total.Bytes, over, leastTime).Query(func(rows pgx.Rows) (err error) {
		var p Pace
		_, err = pgx.ForEachRow(rows, []any{&p.Records, &p.Bytes}, func() error {
			*into = &p
			return nil
		})
		return err
	})
}
