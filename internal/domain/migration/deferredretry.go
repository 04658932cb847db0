package migration

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var errNoDeferred = domain.NotFound("deferred_not_found",
	"The migration has no deferred section of this id. It may have been moved, or published anew.")

// sqlLockCollectionsCheckpoint locks the checkpoint of a migration's collection by
// its name. Only one that isn't closed has anything to try again.
const sqlLockCollectionsCheckpoint = `
SELECT m.collection_id FROM migration_checkpoints m
 WHERE m.tenant_id = $1 AND m.number = $2 AND m.migration_id = $3 AND m.collection = $4 AND m.closed_at IS NULL
   FOR NO KEY UPDATE`

// The retry is asked for where the section still has a row. To ask twice is to ask
// once.
const (
	sqlRetryInSQL   = retryDeferred + `sections_in_sql` + retryStanding
	sqlRetryInStore = retryDeferred + `sections_in_store` + retryStanding
	retryDeferred   = `
UPDATE migration_deferred d SET retry = true
 WHERE d.tenant_id = $1 AND d.number = $2 AND d.collection_id = $3 AND d.item_key = $5 AND d.section = $6
   AND EXISTS (SELECT FROM `
	retryStanding = ` s
                WHERE s.tenant_id = $1 AND s.number = $2 AND s.collection_id = $3 AND s.item_key = $5 AND s.section = $6)
RETURNING $4::text, d.item_key, d.section, d.reason, d.attempts, d.retry, d.first_at, d.last_at`
)

// RetryDeferred has the next sweep try a deferred section again, with all of its
// record. Nothing begins by it.
//
// Errors: not found migration_not_found, deferred_not_found; conflict
// migration_state; unavailable, outcome unknown.
func (s *Service) RetryDeferred(ctx context.Context, scope tenancy.Scope, tenant domain.TenantID, id domain.MigrationID, deferred DeferredID) (Deferred, error) {
	m, err := s.Migration(ctx, tenant, id)
	if err != nil {
		return Deferred{}, err
	}
	if m.State != Active && m.State != Paused && m.State != Stopped {
		return Deferred{}, errState(m.State)
	}
	collection, key, section, ok := deferred.parse()
	if !ok {
		return Deferred{}, errNoDeferred
	}
	sql := sqlRetryInSQL
	if m.Kind == Rehydrate {
		sql = sqlRetryInStore
	}
	number := record.NumberOf(collection)
	var found []Deferred
	err = tenancy.Run(ctx, s.router.Database(number), s.entry(tenant, number), func(ctx context.Context, tx *tenancy.Tx) error {
		var of domain.CollectionID
		tx.Queue(sqlLockCollectionsCheckpoint, int16(number), id, collection).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, []any{&of}, func() error { return nil })
			return err
		})
		if err := tx.Send(ctx); err != nil {
			return err
		}
		tx.Queue(sql, int16(number), of, collection, key, section).Query(func(rows pgx.Rows) (err error) {
			found, err = pgx.CollectRows(rows, scanDeferred)
			return err
		})
		return nil
	})
	switch {
	case err != nil:
		return Deferred{}, err
	case len(found) == 0:
		return Deferred{}, errNoDeferred
	}
	s.log.InfoContext(ctx, "a deferred section is to be tried again", "tenant_id", tenant, "migration_id", id, "principal_id", scope.Principal)
	return found[0], nil
}
