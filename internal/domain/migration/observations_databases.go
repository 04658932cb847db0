package migration

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// sqlDatabaseSize tells what a database has. Of the activity of others a role sees
// their number only. A table's dead rows are taken to be as large as its live ones;
// bodies are in its TOAST table, which has statistics of its own.
const sqlDatabaseSize = `
SELECT pg_database_size(current_database()),
       (SELECT sum(a.numbackends)::integer FROM pg_stat_database a),
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
       sum(d.bytes)::bigint, sum(pg_total_relation_size(c.oid))::bigint
  FROM pg_class c
 CROSS JOIN LATERAL (SELECT coalesce(sum(pg_relation_size(s.relid) * s.n_dead_tup / greatest(s.n_live_tup + s.n_dead_tup, 1)), 0) AS bytes
                       FROM pg_stat_all_tables s WHERE s.relid IN (c.oid, c.reltoastrelid)) d
 WHERE c.oid IN ('sections_in_sql'::regclass, 'section_chunks'::regclass)`

// databaseSizes tells what each data database has, in the order of the
// configuration.
func (s *Service) databaseSizes(ctx context.Context) ([]DatabaseSize, error) {
	all := make([]DatabaseSize, 0, len(s.router.Databases()))
	for _, db := range s.router.Databases() {
		size := DatabaseSize{Name: db.Name}
		rows, _ := db.Pool.Query(ctx, sqlDatabaseSize)
		_, err := pgx.ForEachRow(rows, []any{&size.Bytes, &size.Connections, &size.ConnectionsAllowed, &size.Reclaimable.Dead, &size.Reclaimable.File},
			func() error { return nil })
		if err != nil {
			return nil, postgres.Classify(err)
		}
		all = append(all, size)
	}
	return all, nil
}
