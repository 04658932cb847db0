package record

import (
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlSwitchFormat changes the format of a collection that is locked, and breaks its
// seal: what it has stands in the former format until it is moved. Whoever commits
// there next has waited for the lock, and sees it.
const sqlSwitchFormat = `
UPDATE collections c SET record_format = $4, sealed = false, token = $5
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 AND c.token = $6`

// Switch queues the change of a locked collection's format.
func (r *Reread) Switch(tx *tenancy.Tx, to int16) {
	c := r.collection
	token := domain.RandomID[domain.TokenKind]()
	tx.Queue(sqlSwitchFormat, int16(c.number), c.name, to, token, c.token)
	tx.Queue(sqlDemandMove, int16(c.number), c.name, token)
}

// Sealed tells whether a locked collection is sealed.
func (r *Reread) Sealed() bool { return r.collection != nil && r.collection.sealed }

const (
	sqlSeal = `
UPDATE collections c SET sealed = true, token = $4
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 AND c.token = $5`

	// sqlDemandOneFormat holds that a collection has no row in the format that it
	// doesn't have.
	sqlDemandOneFormat = `
SELECT demand(CASE $4::smallint
       WHEN 1 THEN NOT EXISTS (SELECT FROM sections_in_store s
                                WHERE s.tenant_id = $1 AND s.number = $2::smallint AND s.collection_id = $3)
       ELSE NOT EXISTS (SELECT FROM sections_in_sql s
                         WHERE s.number::integer = $2::smallint::integer AND s.tenant_id = $1 AND s.collection_id = $3) END)`
)

// Seal queues the sealing of a locked collection, from which on it is read at its
// own format only. If a section stands in the other one, the transaction stops.
func (r *Reread) Seal(tx *tenancy.Tx) {
	c := r.collection
	if c.sealed {
		return
	}
	token := domain.RandomID[domain.TokenKind]()
	tx.Queue(sqlSeal, int16(c.number), c.name, token, c.token)
	tx.Queue(sqlDemandMove, int16(c.number), c.name, token)
	tx.Queue(sqlDemandOneFormat, int16(c.number), c.id, c.format)
}

// Frontier is the last row identity of a locked collection: no row is above it.
func (r *Reread) Frontier() int64 { return r.collection.rowIdentity }

// NumberOf is where everything of a collection of a name stands.
func NumberOf(name string) domain.Number { return numberOf(FoldName(name)) }
