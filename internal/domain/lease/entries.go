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

// sqlWriteEntries fails as a whole where a position is taken, which under the head's
// lock is never.
const sqlWriteEntries = `
INSERT INTO journal (tenant_id, number, world_id, position, epoch, kind, actor_type, actor_issuer, actor_subject,
                     entry_id, at, details, payload, chain_hash)
SELECT $1, e.number, e.world_id, e.position, e.epoch, e.kind, e.actor_type, e.actor_issuer, e.actor_subject,
       e.entry_id, e.at, e.details, e.payload, e.chain_hash
  FROM unnest($2::smallint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[],
              $10::text[], $11::timestamptz[], $12::text[], $13::bytea[], $14::bytea[])
       AS e (number, world_id, position, epoch, kind, actor_type, actor_issuer, actor_subject,
             entry_id, at, details, payload, chain_hash)`

// sqlWriteEntryIDs and sqlWriteEpochs fail likewise.
const (
	sqlWriteEntryIDs = `
INSERT INTO entry_ids (tenant_id, number, world_id, entry_id, position)
SELECT $1, i.number, i.world_id, i.entry_id, i.position
  FROM unnest($2::smallint[], $3::text[], $4::text[], $5::bigint[]) AS i (number, world_id, entry_id, position)`

	sqlWriteEpochs = `
INSERT INTO lease_epochs (tenant_id, number, world_id, epoch, position)
SELECT $1, e.number, e.world_id, e.epoch, e.position
  FROM unnest($2::smallint[], $3::text[], $4::bigint[], $5::bigint[]) AS e (number, world_id, epoch, position)`
)

// queueKeys writes by what some of the entries are found: their ids, and the epochs
// that they began.
func (c *entryColumnsOf) queueKeys(tx *tenancy.Tx) {
	var identified, began struct {
		numbers           []int16
		worlds, ids       []string
		epochs, positions []int64
	}
	for i, kind := range c.kinds {
		switch {
		case c.ids[i] != nil:
			identified.numbers = append(identified.numbers, c.numbers[i])
			identified.worlds = append(identified.worlds, c.worlds[i])
			identified.ids = append(identified.ids, *c.ids[i])
			identified.positions = append(identified.positions, c.positions[i])
		case journal.Kind(kind).MakesWriter():
			began.numbers = append(began.numbers, c.numbers[i])
			began.worlds = append(began.worlds, c.worlds[i])
			began.epochs = append(began.epochs, c.epochs[i])
			began.positions = append(began.positions, c.positions[i])
		}
	}
	if r := &identified; len(r.ids) > 0 {
		tx.Queue(sqlWriteEntryIDs, r.numbers, r.worlds, r.ids, r.positions)
	}
	if r := &began; len(r.epochs) > 0 {
		tx.Queue(sqlWriteEpochs, r.numbers, r.worlds, r.epochs, r.positions)
	}
}

func (c *entryColumnsOf) queue(tx *tenancy.Tx) {
	tx.Queue(sqlWriteEntries, c.numbers, c.worlds, c.positions, c.epochs, c.kinds, c.types, c.issuers, c.actors,
		c.ids, c.ats, c.details, c.payloads, c.hashes)
	c.queueKeys(tx)
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
