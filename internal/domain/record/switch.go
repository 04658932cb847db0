package record

import (
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// sqlSwitchFormat changes the format of a collection that is locked. Whoever
// commits there next has waited for the lock, and sees it.
const (
	sqlSwitchFormat = `
UPDATE collections c SET record_format = $5, token = $6
 WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3 AND c.record_format = $4 AND c.row_identity = $7`
)

// Switch queues the change of a locked collection's format.
func (r *Reread) Switch(tx *tenancy.Tx, to int16) {
	c := r.collection
	token := domain.RandomID[domain.TokenKind]()
	tx.Queue(sqlSwitchFormat, int16(c.number), c.name, c.format, to, token, c.rowIdentity)
	tx.Queue(sqlDemandMove, int16(c.number), c.name, token)
}

// Frontier is the last row identity of a locked collection: no row is above it.
func (r *Reread) Frontier() int64 { return r.collection.rowIdentity }

// NumberOf is where everything of a collection of a name stands.
func NumberOf(name string) domain.Number { return numberOf(FoldName(name)) }
