package lease

import (
	"context"
	"crypto/ed25519"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const (
	checkpointEvery = time.Hour // between two that are signed unasked
	checkpointsKept = 5         // of these, by world
)

// Signer has the keys that sign checkpoints.
type Signer interface {
	// CheckpointKey gives the key that signs now, and the id by which its public half
	// is published for good.
	CheckpointKey(ctx context.Context) (keyID string, key ed25519.PrivateKey, err error)
}

// Checkpoint signs where a world's journal ends now. It is worth something where
// the caller keeps it: it shows later that no entry up to there has changed or gone.
//
// Errors: not found, unavailable.
func (s *Service) Checkpoint(ctx context.Context, scope tenancy.Scope, world string) (journal.Checkpoint, error) {
	h, now, err := s.readHead(ctx, scope.Tenant, world)
	if err != nil {
		return journal.Checkpoint{}, err
	}
	keyID, key, err := s.signer.CheckpointKey(ctx)
	if err != nil {
		return journal.Checkpoint{}, err
	}
	c := journal.Checkpoint{Tenant: scope.Tenant, World: world, Position: h.Position, Hash: h.Hash, At: later(now, h.LastAt), KeyID: keyID}
	c.Signature = ed25519.Sign(key, c.Signed())
	return c, nil
}

const sqlSignedEnds = `
SELECT p.number, p.world_id, w.position, w.chain_hash, greatest(w.last_at, clock_timestamp())
  FROM unnest($2::smallint[], $3::text[]) AS p (number, world_id)
 CROSS JOIN LATERAL (SELECT w.position, w.chain_hash, w.last_at FROM worlds w
                      WHERE w.tenant_id = $1 AND w.number = p.number AND w.world_id = p.world_id AND NOT w.retired LIMIT 1) w`

const sqlKeepCheckpoints = `
INSERT INTO checkpoints (tenant_id, number, world_id, position, chain_hash, signed_at, key_id, signature)
SELECT $1, c.number, c.world_id, c.position, c.chain_hash, c.signed_at, c.key_id, c.signature
  FROM unnest($2::smallint[], $3::text[], $4::bigint[], $5::bytea[], $6::timestamptz[], $7::text[], $8::bytea[])
       AS c (number, world_id, position, chain_hash, signed_at, key_id, signature)
    ON CONFLICT DO NOTHING`

// sqlDropCheckpoints is of one world: joined with many, a plan that was made while
// there were few checkpoints would read all of the tenant's.
const sqlDropCheckpoints = `
DELETE FROM checkpoints c
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.world_id = $3
   AND c.position <= (SELECT k.position FROM checkpoints k
                       WHERE k.tenant_id = $1 AND k.number = $2 AND k.world_id = $3
                       ORDER BY k.tenant_id, k.number, k.world_id, k.position DESC OFFSET $4 LIMIT 1)`

// checkpointSome signs where the journals of some worlds of a number end, and keeps
// the checkpoints with the world's last few. A crash of the database may lose them,
// and then the worlds have grown since their last one still.
func (s *Service) checkpointSome(ctx context.Context, tenant domain.TenantID, worlds []worldRef) (int, error) {
	keyID, key, err := s.signer.CheckpointKey(ctx)
	if err != nil {
		return 0, err
	}
	asked := refColumns(worlds)
	var made checkpointColumns
	e := s.entry(tenant, worlds[0].number)
	e.Unsynced = true
	err = tenancy.Run(ctx, s.router.Database(worlds[0].number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		made = checkpointColumns{}
		tx.Queue(sqlSignedEnds, asked.numbers, asked.ids).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var number int16
				var hash []byte
				c := journal.Checkpoint{Tenant: tenant, KeyID: keyID}
				if err := rows.Scan(&number, &c.World, &c.Position, &hash, &c.At); err != nil {
					return err
				}
				copy(c.Hash[:], hash)
				c.Signature = ed25519.Sign(key, c.Signed())
				made.add(number, &c)
			}
			return rows.Err()
		})
		if err := tx.Send(ctx); err != nil {
			return err
		}
		tx.Queue(sqlKeepCheckpoints, made.numbers, made.worlds, made.positions, made.hashes, made.ats, made.keys, made.signatures)
		for i, world := range made.worlds {
			tx.Queue(sqlDropCheckpoints, made.numbers[i], world, checkpointsKept)
		}
		return nil
	})
	return len(made.worlds), err
}

// checkpointColumns are checkpoints as columns, for unnest.
type checkpointColumns struct {
	numbers            []int16
	worlds, keys       []string
	positions          []int64
	hashes, signatures [][]byte
	ats                []time.Time
}

func (c *checkpointColumns) add(number int16, signed *journal.Checkpoint) {
	c.numbers = append(c.numbers, number)
	c.worlds = append(c.worlds, signed.World)
	c.keys = append(c.keys, signed.KeyID)
	c.positions = append(c.positions, signed.Position)
	c.hashes = append(c.hashes, signed.Hash[:])
	c.signatures = append(c.signatures, signed.Signature)
	c.ats = append(c.ats, signed.At)
}

// refColumns are worlds as columns, for unnest.
func refColumns(worlds []worldRef) (c worldColumns) {
	for _, world := range worlds {
		c.numbers = append(c.numbers, int16(world.number))
		c.ids = append(c.ids, world.id)
	}
	return c
}
