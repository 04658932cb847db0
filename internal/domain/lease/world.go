package lease

import (
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var (
	worldID = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,127}$`)

	errWorldID = domain.Invalid("world_id_invalid",
		"A world's id has 1 to 128 of a-z, 0-9, '.', '_' and '-', and begins with a letter or a digit.")
	errNoWorld = domain.NotFound("world_not_found", "There is no world with this id.")
)

// IsWorldID tells whether a world may have this id.
func IsWorldID(id string) bool { return worldID.MatchString(id) }

// refOf parses a world's id. The number is that of the id up to its first ':', by
// which records that are named after a world lie with it; a world's own id has none.
func refOf(id string) (worldRef, error) {
	if !IsWorldID(id) {
		return worldRef{}, errWorldID
	}
	return worldRef{domain.NumberOf(id), id}, nil
}

// Policy is what a world's owner wants of Holdfast.
type Policy struct {
	AdviseSpill bool // journal the advice to take a hot world over, and to hand a cool one back
}

// World is a world as a list shows it.
type World struct {
	ID        string
	CreatedAt time.Time
	Position  int64 // of the journal's last entry
	Epoch     int64
	Holder    journal.Actor // as of the last entry: its lease may have ended since
	Retired   bool
	Policy    Policy
}

// head is a world's row: what replaying the journal gives, and what stands beside.
type head struct {
	journal.State
	ref          worldRef
	secretHash   []byte // of the lease's secret; nil for the coordinator
	serverKeyID  string // that the secret derives from
	requestID    string // that acquired the lease
	grantedHash  journal.Hash
	expiredEpoch int64 // the last that ended by its expiry; 0 for none
	rejected     bool  // rejections are counted beside the head
	awaited      bool  // somebody stands in line
	policy       Policy
	createdAt    time.Time
}

func (h *head) shown() World {
	return World{h.ref.id, h.createdAt, h.Position, h.Epoch, h.Holder, h.Retired, h.policy}
}

const headColumns = `w.position, w.epoch, w.holder_issuer, w.holder_subject, w.secret_hash, w.server_key_id, w.request_id,
       w.term_seconds, w.expires_at, w.activate_by, w.activated, w.granted_position, w.granted_hash,
       w.renewed_position, w.written_position, w.expired_epoch, w.chain_hash, w.last_at, w.rejected, w.awaited,
       w.retired, w.advise_spill, w.created_at`

// scanHead reads headColumns, behind others.
func scanHead(row pgx.CollectableRow, h *head, before ...any) error {
	var issuer, subject, keyID, requestID *string
	var term *int64
	var expiresAt, activateBy *time.Time
	var expired *int64
	var grantedHash, hash []byte
	err := row.Scan(append(before, &h.Position, &h.Epoch, &issuer, &subject, &h.secretHash, &keyID, &requestID,
		&term, &expiresAt, &activateBy, &h.Activated, &h.GrantedPosition, &grantedHash,
		&h.RenewedPosition, &h.WrittenPosition, &expired, &hash, &h.LastAt, &h.rejected, &h.awaited,
		&h.Retired, &h.policy.AdviseSpill, &h.createdAt)...)
	if err != nil {
		return err
	}
	h.Holder = journal.Coordinator
	if issuer != nil {
		h.Holder = journal.Actor{Type: journal.ActorPrincipal, Issuer: *issuer, Subject: *subject}
	}
	h.serverKeyID, h.requestID = orZero(keyID), orZero(requestID)
	h.TermSeconds, h.expiredEpoch = orZero(term), orZero(expired)
	h.ExpiresAt, h.ActivateBy = orZero(expiresAt).UTC(), orZero(activateBy).UTC()
	h.LastAt, h.createdAt = h.LastAt.UTC(), h.createdAt.UTC()
	copy(h.grantedHash[:], grantedHash)
	copy(h.Hash[:], hash)
	return nil
}

// headColumnsOf are heads as columns, for unnest.
type headColumnsOf struct {
	numbers                             []int16
	ids                                 []string
	positions, epochs                   []int64
	issuers, subjects, keyIDs, requests []*string
	secrets, grantedHashes, hashes      [][]byte
	terms                               []*int64
	expiresAts, activateBys             []*time.Time
	activated                           []bool
	granted, renewed, written           []int64
	expired                             []*int64
	lastAts, createdAts                 []time.Time
	rejected, awaited, retired, advise  []bool
}

func (c *headColumnsOf) add(h *head) {
	c.numbers = append(c.numbers, int16(h.ref.number))
	c.ids = append(c.ids, h.ref.id)
	c.positions = append(c.positions, h.Position)
	c.epochs = append(c.epochs, h.Epoch)
	c.issuers = append(c.issuers, orNil(h.Holder.Issuer))
	c.subjects = append(c.subjects, orNil(h.Holder.Subject))
	c.secrets = append(c.secrets, h.secretHash)
	c.keyIDs = append(c.keyIDs, orNil(h.serverKeyID))
	c.requests = append(c.requests, orNil(h.requestID))
	c.terms = append(c.terms, orNil(h.TermSeconds))
	c.expiresAts = append(c.expiresAts, orNil(h.ExpiresAt))
	c.activateBys = append(c.activateBys, orNil(h.ActivateBy))
	c.activated = append(c.activated, h.Activated)
	c.granted = append(c.granted, h.GrantedPosition)
	c.grantedHashes = append(c.grantedHashes, h.grantedHash[:])
	c.renewed = append(c.renewed, h.RenewedPosition)
	c.written = append(c.written, h.WrittenPosition)
	c.expired = append(c.expired, orNil(h.expiredEpoch))
	c.hashes = append(c.hashes, h.Hash[:])
	c.lastAts = append(c.lastAts, h.LastAt)
	c.rejected = append(c.rejected, h.rejected)
	c.awaited = append(c.awaited, h.awaited)
	c.retired = append(c.retired, h.Retired)
	c.advise = append(c.advise, h.policy.AdviseSpill)
	c.createdAts = append(c.createdAts, h.createdAt)
}

// sqlWriteHeads makes a world's first head, or writes the next over the one that
// was locked. A head moves only with entries behind its position, whose key allows
// each once: if it had moved since it was locked, one of ours would stand there
// already. The row that is written over is found by its key, whatever the planner
// knows of the table.
const sqlWriteHeads = `
INSERT INTO worlds AS w (tenant_id, number, world_id, position, epoch, holder_issuer, holder_subject,
       secret_hash, server_key_id, request_id, term_seconds, expires_at, activate_by, activated,
       granted_position, granted_hash, renewed_position, written_position, expired_epoch, chain_hash, last_at,
       rejected, awaited, retired, advise_spill, created_at)
SELECT $1, h.number, h.world_id, h.position, h.epoch, h.holder_issuer, h.holder_subject,
       h.secret_hash, h.server_key_id, h.request_id, h.term_seconds, h.expires_at, h.activate_by, h.activated,
       h.granted_position, h.granted_hash, h.renewed_position, h.written_position, h.expired_epoch, h.chain_hash, h.last_at,
       h.rejected, h.awaited, h.retired, h.advise_spill, h.created_at
  FROM unnest($2::smallint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
              $8::bytea[], $9::text[], $10::text[], $11::integer[], $12::timestamptz[], $13::timestamptz[], $14::boolean[],
              $15::bigint[], $16::bytea[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bytea[], $21::timestamptz[],
              $22::boolean[], $23::boolean[], $24::boolean[], $25::boolean[], $26::timestamptz[])
       AS h (number, world_id, position, epoch, holder_issuer, holder_subject,
             secret_hash, server_key_id, request_id, term_seconds, expires_at, activate_by, activated,
             granted_position, granted_hash, renewed_position, written_position, expired_epoch, chain_hash, last_at,
             rejected, awaited, retired, advise_spill, created_at)
ON CONFLICT (tenant_id, number, world_id) DO UPDATE
   SET position = excluded.position, epoch = excluded.epoch,
       holder_issuer = excluded.holder_issuer, holder_subject = excluded.holder_subject,
       secret_hash = excluded.secret_hash, server_key_id = excluded.server_key_id, request_id = excluded.request_id,
       term_seconds = excluded.term_seconds, expires_at = excluded.expires_at, activate_by = excluded.activate_by,
       activated = excluded.activated, granted_position = excluded.granted_position, granted_hash = excluded.granted_hash,
       renewed_position = excluded.renewed_position, written_position = excluded.written_position,
       expired_epoch = excluded.expired_epoch, chain_hash = excluded.chain_hash, last_at = excluded.last_at,
       rejected = excluded.rejected, awaited = excluded.awaited, retired = excluded.retired,
       advise_spill = excluded.advise_spill
 WHERE NOT w.retired AND w.position <= excluded.position`

// sqlDemandHeads holds what was written to what was decided: each head is where
// its chain ends.
const sqlDemandHeads = `
SELECT demand(count(w.world_id) = count(*))
  FROM unnest($2::smallint[], $3::text[], $4::bigint[], $5::bytea[]) AS h (number, world_id, position, chain_hash)
  LEFT JOIN LATERAL (SELECT w.world_id FROM worlds w
                      WHERE w.tenant_id = $1 AND w.number = h.number AND w.world_id = h.world_id
                        AND w.position = h.position AND w.chain_hash = h.chain_hash LIMIT 1) w ON true`

func (c *headColumnsOf) queue(tx *tenancy.Tx) {
	tx.Queue(sqlWriteHeads, c.numbers, c.ids, c.positions, c.epochs, c.issuers, c.subjects,
		c.secrets, c.keyIDs, c.requests, c.terms, c.expiresAts, c.activateBys, c.activated,
		c.granted, c.grantedHashes, c.renewed, c.written, c.expired, c.hashes, c.lastAts,
		c.rejected, c.awaited, c.retired, c.advise, c.createdAts)
	tx.Queue(sqlDemandHeads, c.numbers, c.ids, c.positions, c.hashes)
}

func orZero[T any](p *T) (zero T) {
	if p == nil {
		return zero
	}
	return *p
}

func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
