package migration

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Kind is what a migration does with bodies.
type Kind string

const (
	RecordBodies Kind = "record_bodies" // from SQL into the store
	Rehydrate    Kind = "rehydrate"     // and back
)

// Counters are what was committed. They add up the same however often a run was
// interrupted.
type Counters struct {
	Passes    int64
	Inspected int64 // rows
	Moved     int64 // records
	Bodies    int64 // of these
	Bytes     int64 // likewise
	Uploads   int64 // objects that were made
	Reuses    int64 // objects that were there already
	Raced     int64 // records that had changed when they were to be moved
	Retries   int64 // of transactions
}

// Checkpoint is a collection's part of a migration, as it was committed last.
type Checkpoint struct {
	Collection   string
	CollectionID domain.CollectionID
	Migration    domain.MigrationID
	Kind         Kind
	PlanHash     Hash
	Build        string
	Held         bool   // no pass commits
	HeldAt       int64  // the migration's revision by which it was held, or let go
	Frontier     int64  // the last row identity at the switch of the format
	AfterRow     int64  // where the sweep is that goes on
	AfterKey     string // likewise, on the way back
	Sweep        int64
	SweepMoved   int64 // records that it has moved
	Counters
	ActivatedAt time.Time
	MovedAt     time.Time
	DrainedAt   time.Time // zero until nothing is left in the former format
	ClosedAt    time.Time // zero until the migration is closed

	number domain.Number
	token  domain.Token // of the transaction that wrote it
}

const checkpointColumns = `m.number, m.collection, m.collection_id, m.migration_id, m.kind, m.plan_hash, m.build, m.token, m.held, m.held_at, m.frontier,
       m.after_row, m.after_key, m.sweep, m.sweep_moved, m.passes, m.inspected, m.moved, m.bodies, m.bytes, m.uploads, m.reuses,
       m.raced, m.retries, m.activated_at, m.moved_at, m.drained_at, m.closed_at`

func scanCheckpoint(row pgx.CollectableRow) (c Checkpoint, err error) {
	var number int16
	var hash []byte
	var drained, closed *time.Time
	err = row.Scan(&number, &c.Collection, &c.CollectionID, &c.Migration, &c.Kind, &hash, &c.Build, &c.token, &c.Held, &c.HeldAt, &c.Frontier,
		&c.AfterRow, &c.AfterKey, &c.Sweep, &c.SweepMoved, &c.Passes, &c.Inspected, &c.Moved, &c.Bodies, &c.Bytes, &c.Uploads, &c.Reuses,
		&c.Raced, &c.Retries, &c.ActivatedAt, &c.MovedAt, &drained, &closed)
	c.number = domain.Number(number)
	copy(c.PlanHash[:], hash)
	c.ActivatedAt, c.MovedAt, c.DrainedAt, c.ClosedAt = c.ActivatedAt.UTC(), c.MovedAt.UTC(), utc(drained), utc(closed)
	return c, err
}

func utc(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

const (
	sqlReadCheckpoint = `
SELECT ` + checkpointColumns + `
  FROM migration_checkpoints m WHERE m.tenant_id = $1 AND m.number = $2 AND m.collection_id = $3`
	sqlLockCheckpoint = sqlReadCheckpoint + ` FOR NO KEY UPDATE`
)

// sqlMoveCheckpoint takes a checkpoint on from the one that was found. The token is
// the fence: another worker has committed if it is another one.
const (
	sqlMoveCheckpoint = `
UPDATE migration_checkpoints m
   SET token = $4, after_row = $5, after_key = $6, sweep = $7, sweep_moved = $8, passes = $9, inspected = $10, moved = $11,
       bodies = $12, bytes = $13, uploads = $14, reuses = $15, raced = $16, retries = $17, moved_at = $18, drained_at = $19
 WHERE m.tenant_id = $1 AND m.number = $2 AND m.collection_id = $3
   AND m.token = $20 AND m.plan_hash = $21 AND m.build = $22 AND NOT m.held AND m.closed_at IS NULL`
	sqlDemandCheckpoint = `
SELECT demand(count(*) = 1) FROM migration_checkpoints m
 WHERE m.tenant_id = $1 AND m.number = $2 AND m.collection_id = $3 AND m.token = $4`
)

func queueCheckpoint(tx *tenancy.Tx, sql string, number domain.Number, id domain.CollectionID, found *Checkpoint) {
	tx.Queue(sql, int16(number), id).Query(func(rows pgx.Rows) (err error) {
		for rows.Next() {
			if *found, err = scanCheckpoint(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// queueMove writes a checkpoint over the one that it was made from.
func (c *Checkpoint) queueMove(tx *tenancy.Tx, from *Checkpoint) {
	tx.Queue(sqlMoveCheckpoint, int16(c.number), c.CollectionID, c.token, c.AfterRow, c.AfterKey, c.Sweep, c.SweepMoved,
		c.Passes, c.Inspected, c.Moved, c.Bodies, c.Bytes, c.Uploads, c.Reuses, c.Raced, c.Retries, c.MovedAt, orNil(c.DrainedAt),
		from.token, from.PlanHash[:], from.Build)
	tx.Queue(sqlDemandCheckpoint, int16(c.number), c.CollectionID, c.token)
}
