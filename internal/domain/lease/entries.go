package lease

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain/lease/journal"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

const entryColumns = `j.position, j.epoch, j.kind, j.actor_type, j.actor_issuer, j.actor_subject, coalesce(j.entry_id, ''),
       j.at, j.details, j.payload, j.chain_hash`

// scanEntry reads entryColumns, behind others.
func scanEntry(row pgx.CollectableRow, before ...any) (e journal.Entry, err error) {
	var details string
	var hash []byte
	err = row.Scan(append(before, &e.Position, &e.Epoch, &e.Kind, &e.Actor.Type, &e.Actor.Issuer, &e.Actor.Subject, &e.EntryID,
		&e.At, &details, &e.Payload, &hash)...)
	e.At, e.Details = e.At.UTC(), []byte(details)
	copy(e.Hash[:], hash)
	return e, err
}

// entryColumnsOf are new entries as columns, for unnest.
type entryColumnsOf struct {
	numbers                               []int16
	worlds, kinds, types, issuers, actors []string
	positions, epochs                     []int64
	ids                                   []*string
	ats                                   []time.Time
	details                               []string
	payloads, hashes                      [][]byte
}

func (c *entryColumnsOf) add(world worldRef, e *journal.Entry) {
	c.numbers = append(c.numbers, int16(world.number))
	c.worlds = append(c.worlds, world.id)
	c.positions = append(c.positions, e.Position)
	c.epochs = append(c.epochs, e.Epoch)
	c.kinds = append(c.kinds, string(e.Kind))
	c.types = append(c.types, string(e.Actor.Type))
	c.issuers = append(c.issuers, e.Actor.Issuer)
	c.actors = append(c.actors, e.Actor.Subject)
	c.ids = append(c.ids, orNil(e.EntryID))
	c.ats = append(c.ats, e.At)
	c.details = append(c.details, string(e.Details))
	c.payloads = append(c.payloads, notNil(e.Payload))
	c.hashes = append(c.hashes, e.Hash[:])
}

// sqlWriteEntries fails as a whole where a position or an entry id is taken, which
// under the head's lock is never.
const sqlWriteEntries = `
INSERT INTO journal (tenant_id, number, world_id, position, epoch, kind, actor_type, actor_issuer, actor_subject,
                     entry_id, at, details, payload, chain_hash)
SELECT $1, e.number, e.world_id, e.position, e.epoch, e.kind, e.actor_type, e.actor_issuer, e.actor_subject,
       e.entry_id, e.at, e.details, e.payload, e.chain_hash
  FROM unnest($2::smallint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
              $10::text[], $11::timestamptz[], $12::text[], $13::bytea[], $14::bytea[])
       AS e (number, world_id, position, epoch, kind, actor_type, actor_issuer, actor_subject,
             entry_id, at, details, payload, chain_hash)`

func (c *entryColumnsOf) queue(tx *tenancy.Tx) {
	tx.Queue(sqlWriteEntries, c.numbers, c.worlds, c.positions, c.epochs, c.kinds, c.types, c.issuers, c.actors,
		c.ids, c.ats, c.details, c.payloads, c.hashes)
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
