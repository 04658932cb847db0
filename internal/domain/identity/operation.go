package identity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// ref names a record: what an operation changes and a claim belongs to.
type ref struct {
	Family domain.Family
	Number domain.Number // where the record and everything that decides about it stand
	ID     domain.RecordID
}

func refTo(family domain.Family, id domain.RecordID) ref {
	return ref{family, domain.NumberOf(id.String()), id}
}

func deviceRef(id domain.DeviceID) ref { return refTo(domain.FamilyDevice, domain.RecordID(id)) }

func accountRef(id domain.AccountID) ref { return refTo(domain.FamilyAccount, domain.RecordID(id)) }

func compareRefs(a, b ref) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Family, b.Family), bytes.Compare(a.ID[:], b.ID[:]))
}

// link is one lookup key of a record and the token of the claim that backs it.
type link struct {
	Family domain.Family `json:"family"`
	Number domain.Number `json:"number"` // where the key's claim stands
	Key    string        `json:"key"`
	Token  domain.Token  `json:"token"`
}

func linkTo(family domain.Family, key string, token domain.Token) link {
	return link{family, domain.NumberOf(key), key, token}
}

func compareLinks(a, b link) int {
	return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Family, b.Family), cmp.Compare(a.Key, b.Key))
}

type operationState string

const (
	prepared  operationState = "prepared"
	aborted   operationState = "aborted"
	committed operationState = "committed"
)

// operation is a prepared change of a record whose lookup keys live in other
// buckets.
type operation struct {
	record      ref
	token       domain.Token
	state       operationState
	deadline    time.Time // the database's clock; set by prepare
	base        int64     // the revision that it was prepared from; 0 for a creation
	proposal    json.RawMessage
	newLinks    []link     // claimed under token
	claimsUntil *time.Time // when those expire; nil for keys that don't; not stored
	oldLinks    []link     // each under a token of its own
	fingerprint []byte     // of the request, where it may be repeated
	traceparent string     // of the request that prepared it
}

// lists tells whether the operation still stands for a claim: for the new keys
// until it is cleared after an abort, for the old ones after its commit.
func (o *operation) lists(claim link) bool {
	links := o.newLinks
	if o.state == committed {
		links = o.oldLinks
	}
	return slices.Contains(links, claim)
}

// residue are the claims to release before the operation may be cleared.
func (o *operation) residue() []link {
	if o.state == committed {
		return o.oldLinks
	}
	return o.newLinks
}

// overdue tells whether somebody other than its caller may finish it.
func (o *operation) overdue(now time.Time) bool {
	return o.state != prepared || !now.Before(o.deadline)
}

// Operations are locked in key order, by exact token.
const sqlLockOperations = `
SELECT o.token, o.state, o.deadline
  FROM unnest($2::smallint[], $3::text[], $4::uuid[], $5::uuid[]) AS p (number, family, record_id, token)
 CROSS JOIN LATERAL (SELECT o.token, o.state, o.deadline FROM operations o
                      WHERE o.tenant_id = $1 AND o.number = p.number AND o.family = p.family
                        AND o.record_id = p.record_id AND o.token = p.token
                        FOR UPDATE) o`

// queueLockOperations locks the operations that still stand under the tokens
// asked for, and tells token, state and deadline of each.
func queueLockOperations(tx *tenancy.Tx, asked *operationColumns, found func(*operation)) {
	tx.Queue(sqlLockOperations, asked.numbers, asked.families, asked.records, asked.tokens).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var o operation
			if err := rows.Scan(&o.token, &o.state, &o.deadline); err != nil {
				return err
			}
			found(&o)
		}
		return rows.Err()
	})
}

// linksJSON is links as an operation's row has them.
func linksJSON(links []link) string {
	text, _ := json.Marshal(links) // of strings, numbers and ids
	return string(text)
}
