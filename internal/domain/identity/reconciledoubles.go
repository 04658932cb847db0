package identity

import (
	"context"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// DoubleOwner is a key that two records have: one took it in the time that a
// restore has taken back from the other. It names the records, and nothing of them.
type DoubleOwner struct {
	Family  domain.Family `json:"family"` // of the key
	Number  domain.Number `json:"number"` // where the key's claim stands
	Records [2]Contender  `json:"records"`
	Detail  string        `json:"detail"` // what to do, in plain words
}

// Bucket is where the key's claim stands, by name.
func (d DoubleOwner) Bucket() string {
	return domain.Partition{Family: d.Family, Number: d.Number}.Bucket()
}

// Contender is a record that has a key which another one has too.
type Contender struct {
	Record    domain.RecordID `json:"record"`
	Family    domain.Family   `json:"family"`
	Status    string          `json:"status"`
	Database  string          `json:"database"`
	Restored  bool            `json:"restored"` // its database was put back
	Claimed   bool            `json:"claimed"`  // the key leads to it now
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
}

func (c *reconciliation) contender(r *reading, claimed bool) Contender {
	k := Contender{Record: r.record.ID, Family: r.record.Family, Database: c.home(r.record).Name,
		Restored: c.Restored.Has(r.record.Number), Claimed: claimed}
	switch {
	case r.account != nil:
		k.Status, k.CreatedAt, k.UpdatedAt = string(r.account.Status), r.account.CreatedAt.UTC(), r.account.UpdatedAt.UTC()
	case r.device != nil:
		k.Status, k.CreatedAt, k.UpdatedAt = string(r.device.Status), r.device.CreatedAt.UTC(), r.device.UpdatedAt.UTC()
	}
	return k
}

// double deals with a key that two records have: the one that wants it, and the one
// that the standing claim leads to. It tells whether the key is free for the former.
func (c *reconciliation) double(ctx context.Context, k dueKey, standing *claim, owner *reading) (free bool, err error) {
	wanting := &reading{record: k.owner}
	if err := c.read(ctx, []*reading{wanting}); err != nil {
		return false, err
	}
	if !wanting.holds(k.link) {
		return false, nil // it has given the key up meanwhile
	}
	switch c.loser(wanting, owner) {
	case wanting:
		err = c.take(ctx, wanting, k.link)
	case owner:
		err = c.take(ctx, owner, standing.link)
		free = err == nil
	default:
		c.done.Doubles++
		return false, c.Found(DoubleOwner{Family: k.link.Family, Number: k.link.Number,
			Records: [2]Contender{c.contender(wanting, false), c.contender(owner, true)}, Detail: c.howToDecide(wanting)})
	}
	if err != nil {
		return false, err
	}
	c.done.Resolved++
	return free, nil
}

// loser is the one of two records that has to give a key up, or nil: somebody has
// to say which. A tombstone's handle is held so that nobody takes it for the deleted
// account's; where somebody has it already, holding it helps nobody.
func (c *reconciliation) loser(a, b *reading) *reading {
	keepA, keepB := c.Keep[a.record.ID], c.Keep[b.record.ID]
	switch {
	case a.device != nil:
		return nil // their codes end by themselves
	case keepA != keepB && keepA:
		return b
	case keepA != keepB:
		return a
	case a.visible() != b.visible() && a.visible():
		return b
	case a.visible() != b.visible():
		return a
	}
	return nil
}

func (c *reconciliation) howToDecide(wanting *reading) string {
	if wanting.device != nil {
		return "Two devices wait under one user code. Codes end by themselves, after a quarter of an hour: wait until then, and reconcile again."
	}
	return "Two accounts have one key. Find out whose it is, and reconcile again with --keep and that record's id. " +
		"The other account stays as it is, but for the key: without the address, or under a handle that is made from its id."
}

// take takes a key from a record, and releases the claim that the record may have
// on it. A crash in between leaves a claim that its owner doesn't know.
func (c *reconciliation) take(ctx context.Context, from *reading, key link) error {
	account := from.account
	switch {
	case !account.visible():
		return c.endTombstone(ctx, from, account.links())
	case key.Family == domain.FamilyEmail:
		return c.takeEmail(ctx, from, key)
	}
	return c.rename(ctx, from)
}

func (c *reconciliation) takeEmail(ctx context.Context, from *reading, key link) error {
	err := c.s.changeAccount(ctx, c.Tenant, from.record, needs{operation: true}, func(a *lockedAccount) error {
		switch {
		case a.account.emailToken != key.Token:
			return nil
		case a.occupied():
			return c.s.changePending()
		}
		a.revise(sqlRemoveEmail, AccountEmailRemoved, []string{"email"}, Actor{Kind: ActorHoldfast}, a.now)
		return nil
	})
	if err != nil {
		return err
	}
	return c.s.release(ctx, c.Tenant, from.record, []link{key})
}

const sqlRename = `
UPDATE accounts SET revision = $5, handle = $6, handle_key = $7, handle_token = $8, skeleton_key = $9, skeleton_token = $10, updated_at = $11
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND revision = $4 AND status <> 'deleted'`

// rename gives an account the handle that is made from its id: the one change of a
// handle that there is. The new one is claimed first, as always.
func (c *reconciliation) rename(ctx context.Context, from *reading) error {
	handle, err := ParseHandle(c.Policy, Reserved{}, "restored-"+strings.ReplaceAll(from.record.ID.String(), "-", ""))
	if err != nil {
		return err
	}
	token := domain.RandomID[domain.TokenKind]()
	renamed := accountRow{Account: Account{ID: domain.AccountID(from.record.ID), Handle: handle}, handleToken: token, skeletonToken: token}
	var claims []*claiming
	for _, l := range renamed.links() {
		claims = append(claims, &claiming{owner: from.record, link: l})
	}
	if err := c.claim(ctx, claims); err != nil {
		return err
	}
	for _, k := range claims {
		if !k.granted {
			return domain.Conflict("handle_taken", "The handle "+handle.String()+" is taken, which the account should get for the one that it loses.")
		}
	}
	var skeletonToken *domain.Token
	if handle.Skeleton() != "" {
		skeletonToken = &token
	}
	var old []link
	err = c.s.changeAccount(ctx, c.Tenant, from.record, needs{operation: true}, func(a *lockedAccount) error {
		old = nil
		switch {
		case !a.account.visible() || a.account.handleToken != from.account.handleToken:
			return nil
		case a.occupied():
			return c.s.changePending()
		}
		for _, l := range a.account.links() {
			if l.Family == domain.FamilyHandle {
				old = append(old, l)
			}
		}
		a.revise(sqlRename, AccountChanged, []string{"handle"}, Actor{Kind: ActorHoldfast},
			handle.String(), handle.Key(), token, orNil(handle.Skeleton()), skeletonToken, a.now)
		return nil
	})
	if err != nil {
		return err
	}
	return c.s.release(ctx, c.Tenant, from.record, old)
}

const sqlGiveUpHandle = `
UPDATE accounts SET handle = NULL, handle_key = NULL, handle_token = NULL, skeleton_key = NULL, skeleton_token = NULL, quarantined_until = NULL
 WHERE tenant_id = $1 AND number = $2 AND account_id = $3 AND status = 'deleted'`

// endTombstone ends a deleted account's quarantine. The revision stays as it is:
// nobody sees a tombstone.
func (c *reconciliation) endTombstone(ctx context.Context, of *reading, held []link) error {
	err := tenancy.Run(ctx, c.home(of.record), c.s.entry(c.Tenant, []int16{int16(of.record.Number)}), func(_ context.Context, tx *tenancy.Tx) error {
		tx.Queue(sqlGiveUpHandle, int16(of.record.Number), of.record.ID)
		return nil
	})
	if err != nil {
		return err
	}
	return c.s.release(ctx, c.Tenant, of.record, held)
}
