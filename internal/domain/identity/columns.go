package identity

import (
	"time"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Ids stand in columns as plain arrays of bytes: the driver needs reflection
// for each element of any other type.

// operationColumns are operations as columns, for unnest.
type operationColumns struct {
	numbers  []int16
	families []string
	records  [][16]byte
	tokens   [][16]byte
}

func (c *operationColumns) add(o *operation) {
	c.numbers = append(c.numbers, int16(o.record.Number))
	c.families = append(c.families, string(o.record.Family))
	c.records = append(c.records, o.record.ID)
	c.tokens = append(c.tokens, o.token)
}

// accountColumnsOf are new accounts as columns, for unnest.
type accountColumnsOf struct {
	numbers                                    []int16
	ids, tokens                                [][16]byte
	statuses, handles, handleKeys, attributes  []string
	skeletons, emails, emailKeys, displayNames []*string
	fingerprints                               [][]byte
	verifiedAts                                []*time.Time
	createdAts                                 []time.Time
}

func (c *accountColumnsOf) add(a *accountRow) {
	c.numbers = append(c.numbers, int16(accountRef(a.ID).Number))
	c.ids = append(c.ids, a.ID)
	c.tokens = append(c.tokens, a.handleToken)
	c.statuses = append(c.statuses, string(a.Status))
	c.handles = append(c.handles, a.Handle.String())
	c.handleKeys = append(c.handleKeys, a.Handle.Key())
	c.skeletons = append(c.skeletons, orNil(a.Handle.Skeleton()))
	c.emails = append(c.emails, orNil(a.Email.String()))
	c.emailKeys = append(c.emailKeys, orNil(a.Email.Key()))
	c.displayNames = append(c.displayNames, a.DisplayName)
	c.attributes = append(c.attributes, string(a.Attributes))
	c.fingerprints = append(c.fingerprints, a.fingerprint)
	c.verifiedAts = append(c.verifiedAts, a.EmailVerifiedAt)
	c.createdAts = append(c.createdAts, a.CreatedAt)
}

func (c *accountColumnsOf) queue(tx *tenancy.Tx, now time.Time) {
	tx.Queue(sqlInsertAccounts, now, c.numbers, c.ids, c.statuses, c.handles, c.handleKeys, c.tokens,
		c.skeletons, c.emails, c.emailKeys, c.verifiedAts, c.displayNames, c.attributes, c.fingerprints, c.createdAts)
}

// linkColumns are claims as columns, for unnest.
type linkColumns struct {
	numbers       []int16
	families      []string
	keys          []string
	ownerFamilies []string
	owners        [][16]byte
	tokens        [][16]byte
}

func (c *linkColumns) add(owner ref, l link) {
	c.numbers = append(c.numbers, int16(l.Number))
	c.families = append(c.families, string(l.Family))
	c.keys = append(c.keys, l.Key)
	c.ownerFamilies = append(c.ownerFamilies, string(owner.Family))
	c.owners = append(c.owners, owner.ID)
	c.tokens = append(c.tokens, l.Token)
}
