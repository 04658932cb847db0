package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
)

// The reference's journals have what the promise needs and nothing else: a head
// that is locked, checked and moved, and entries whose positions and ids are
// unique because an index says so. They have no chain, no tenant, and no evidence
// of what was refused.
const (
	sqlDropJournals = `DROP TABLE IF EXISTS bench_heads, bench_entries`
	sqlHeads        = `
CREATE TABLE bench_heads (
    world integer PRIMARY KEY,
    position bigint NOT NULL,
    epoch bigint NOT NULL,
    secret_hash bytea NOT NULL,
    expires_at timestamptz NOT NULL
) WITH (fillfactor = 50)`
	sqlEntries = `
CREATE TABLE bench_entries (
    world integer NOT NULL,
    position bigint NOT NULL,
    epoch bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    entry_id text COLLATE "C",
    at timestamptz NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (world, position)
)`
	sqlEntryIDs  = `CREATE UNIQUE INDEX ON bench_entries (world, entry_id) WHERE entry_id IS NOT NULL`
	sqlFillHeads = `
INSERT INTO bench_heads
SELECT n, 0, 1, sha256('secret'), now() + interval '1 day' FROM generate_series(1, $1::integer) n`
	// The journal that is read has no head: nobody writes there.
	sqlFillEntries = `
INSERT INTO bench_entries
SELECT 0, n, 1, 'entry', gen_random_uuid()::text, clock_timestamp(), decode(repeat('78', $2::integer), 'hex')
  FROM generate_series(1, $1::integer) n`
)

func (s *stack) fillJournals(ctx context.Context, worlds int) error {
	batch := &pgx.Batch{}
	for _, statement := range []string{sqlDropJournals, sqlHeads, sqlEntries, sqlEntryIDs} {
		batch.Queue(statement)
	}
	if err := s.owner.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if _, err := s.owner.Exec(ctx, sqlFillHeads, worlds); err != nil {
		return err
	}
	_, err := s.owner.Exec(ctx, sqlFillEntries, readEntries, payloadSize)
	return err
}

// sqlFence is the head's lock, the check and the new position in one.
const sqlFence = `UPDATE bench_heads SET position = position + 1%s
   WHERE world = :w AND epoch = 1 AND secret_hash = sha256('secret') AND expires_at > clock_timestamp()
  RETURNING world, position, epoch`

// pgbenchAppend is a fenced append of one entry to a random one of so many
// journals, in one statement. A function that locks the head first and then writes
// is no faster on one journal, and slower on many.
func pgbenchAppend(worlds int) string {
	return fmt.Sprintf(`\set w random(1, %d)
WITH head AS (
  `+fmt.Sprintf(sqlFence, "")+`)
INSERT INTO bench_entries
SELECT world, position, epoch, 'entry', gen_random_uuid()::text, clock_timestamp(), decode(repeat('78', %d), 'hex') FROM head;
`, worlds, payloadSize)
}

// pgbenchRenew is the renewal of one lease, and its entry, in one statement.
func pgbenchRenew(worlds int) string {
	return fmt.Sprintf(`\set w random(1, %d)
WITH head AS (
  `+fmt.Sprintf(sqlFence, ", expires_at = clock_timestamp() + interval '1 day'")+`)
INSERT INTO bench_entries
SELECT world, position, epoch, 'lease_renewed', NULL, clock_timestamp(), '' FROM head;
`, worlds)
}

const sqlPositions = `SELECT sum(position)::bigint FROM bench_heads`

// journaled runs a script of one entry a transaction, and demands that each wrote
// its entry: a statement whose check fails writes nothing, and is fast.
func (s *stack) journaled(script string) round {
	run := s.pgbench(script, appenders)
	return func(ctx context.Context, length time.Duration) (result Result, err error) {
		var before, after int
		if err := s.owner.QueryRow(ctx, sqlPositions).Scan(&before); err != nil {
			return result, err
		}
		if result, err = run(ctx, length); err != nil {
			return result, err
		}
		if err := s.owner.QueryRow(ctx, sqlPositions).Scan(&after); err != nil {
			return result, err
		}
		if written := after - before; written != result.Operations {
			return result, fmt.Errorf("%d transactions wrote %d entries", result.Operations, written)
		}
		return result, nil
	}
}

const sqlReadEntries = `
SELECT position, epoch, kind, entry_id, at, payload FROM bench_entries
 WHERE world = 0 AND position > $1 ORDER BY position LIMIT $2`

type referenceEntry struct {
	Position int64     `json:"position"`
	Epoch    int64     `json:"epoch"`
	Kind     string    `json:"kind"`
	EntryID  *string   `json:"entry_id"`
	At       time.Time `json:"at"`
	Payload  []byte    `json:"payload"`
}

// serveJournal serves pages of the journal that is read.
func serveJournal(e *echo.Echo, pool *pgxpool.Pool) {
	e.GET("/reference/journal/:after", func(c echo.Context) error {
		after, err := strconv.ParseInt(c.Param("after"), 10, 64)
		if err != nil {
			return err
		}
		rows, _ := pool.Query(c.Request().Context(), sqlReadEntries, after, pageSize)
		entries, err := pgx.CollectRows(rows, pgx.RowToStructByPos[referenceEntry])
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, map[string]any{"entries": entries})
	})
}
