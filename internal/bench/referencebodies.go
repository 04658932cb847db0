package bench

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
)

// The reference's bodies have a unique key and a revision, and nothing else: no
// receipt, no digest, no place in an export, no tenant.
const (
	sqlDropBodies = `DROP TABLE IF EXISTS bench_bodies`
	sqlBodies     = `
CREATE TABLE bench_bodies (
    key text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL,
    content bytea NOT NULL,
    updated_at timestamptz NOT NULL
)`
	sqlReadBody = `SELECT content FROM bench_bodies WHERE key = $1`
)

// pgbenchBody is a body in SQL that no other is like. All but its end stands in the
// prepared statement: it isn't sent each time, as it would have to be.
func pgbenchBody() string {
	const end = 16
	return fmt.Sprintf(`decode('%s', 'hex') || uuid_send(gen_random_uuid())`, hex.EncodeToString(newBodyMaker(bodySize-end).bytes))
}

// pgbenchPublish is an insert of one row with a body.
func pgbenchPublish() string {
	return `INSERT INTO bench_bodies VALUES (gen_random_uuid()::text, 1, ` + pgbenchBody() + `, clock_timestamp());
`
}

// pgbenchUpdate is an update of the row of that key, as SQL has it.
func pgbenchUpdate(key string) string {
	return `UPDATE bench_bodies SET revision = revision + 1, content = ` + pgbenchBody() + `, updated_at = clock_timestamp() WHERE key = ` + key + `;
`
}

const (
	hotRow = `'hot'`
	ownRow = `'own-' || :client_id`
)

// fillBodies makes the rows that are read and updated, and gives the paths of those
// that are read.
func (s *stack) fillBodies(ctx context.Context, n int) ([]string, error) {
	for _, statement := range []string{sqlDropBodies, sqlBodies} {
		if _, err := s.owner.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	maker := newBodyMaker(bodySize)
	keys, paths := []string{"hot"}, make([]string, n)
	for i := range updating {
		keys = append(keys, "own-"+strconv.Itoa(i))
	}
	for i := range paths {
		keys = append(keys, "read-"+strconv.Itoa(i))
		paths[i] = "/reference/bodies/read-" + strconv.Itoa(i)
	}
	columns := []string{"key", "revision", "content", "updated_at"}
	_, err := s.owner.CopyFrom(ctx, pgx.Identifier{"bench_bodies"}, columns, pgx.CopyFromSlice(len(keys), func(i int) ([]any, error) {
		maker.next()
		return []any{keys[i], int64(1), maker.bytes, time.Now()}, nil
	}))
	return paths, err
}

// serveBodies serves the bodies that are read.
func serveBodies(e *echo.Echo, pool *pgxpool.Pool) {
	e.GET("/reference/bodies/:key", func(c echo.Context) error {
		var content []byte
		if err := pool.QueryRow(c.Request().Context(), sqlReadBody, c.Param("key")).Scan(&content); err != nil {
			return err
		}
		return c.Blob(http.StatusOK, echo.MIMEOctetStream, content)
	})
}
