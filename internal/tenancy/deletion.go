package tenancy

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// DeletionGrace is how long a deletion that was approved can be called off. Then the
// tenant is purged.
const DeletionGrace = 7 * 24 * time.Hour

// Deletion is how far the deletion of a tenant is: asked for, approved and in its
// grace, being purged, or done.
type Deletion struct {
	Tenant     Tenant
	AskedBy    string // an operator's name
	AskedAt    time.Time
	ApprovedBy string         // of another operator; "" until then, as the next two
	ApprovedAt time.Time      // when its grace began
	PurgeAfter time.Time      // when its grace is over
	Purge      *PurgeProgress // nil until the purge begins
}

// PurgeProgress is how far a tenant's purge is, and at its end the tombstone's counts.
type PurgeProgress struct {
	Step        string
	Number      int16  // below which the rows of this lap are gone: 0 to 64
	Stalled     string // a code: why the last step could not be done; "" for none
	BeganAt     time.Time
	SteppedAt   time.Time
	SettledAt   time.Time // when objects are looked for again; zero until the step "wait"
	PurgedAt    time.Time // zero until it is done
	Objects     int64     // deleted so far
	ObjectBytes int64
	Jobs        int64            // likewise
	ControlRows map[string]int64 // likewise, by table
	Rows        map[string]int64 // likewise; nil until all are gone
}

const deletionColumns = `d.asker, d.asked_at, d.approver, d.approved_at, d.purge_after,
       p.step, p.next_number, p.stalled, p.began_at, p.stepped_at, p.settled_at, p.purged_at, p.objects, p.object_bytes, p.jobs, p.control_rows, p.rows`

const sqlDeletion = `
SELECT ` + deletionColumns + `
  FROM tenant_deletions d LEFT JOIN tenant_purges p ON p.tenant_id = d.tenant_id
 WHERE d.tenant_id = $1`

func errNoDeletion() error {
	return domain.NotFound("deletion_not_found", "Nobody has asked for the tenant's deletion.")
}

// Deletion tells how far the tenant's deletion is. Errors: forbidden; not found
// tenant_not_found, deletion_not_found.
func (s *Store) Deletion(ctx context.Context, caller Scope, id domain.TenantID) (d Deletion, err error) {
	if err := demand(caller, OperatorRead); err != nil {
		return Deletion{}, err
	}
	err = s.controlRead(ctx, Operators, func(tx pgx.Tx) error {
		t, err := tenantTx(ctx, tx, id)
		if err != nil {
			return err
		}
		d, err = deletionTx(ctx, tx, t)
		return err
	})
	return d, err
}

func deletionTx(ctx context.Context, tx pgx.Tx, t Tenant) (Deletion, error) {
	d := Deletion{Tenant: t}
	var p PurgeProgress
	err := tx.QueryRow(ctx, sqlDeletion, t.ID).Scan(&d.AskedBy, &d.AskedAt,
		(*zeronull.Text)(&d.ApprovedBy), (*zeronull.Timestamptz)(&d.ApprovedAt), (*zeronull.Timestamptz)(&d.PurgeAfter),
		(*zeronull.Text)(&p.Step), (*zeronull.Int2)(&p.Number), (*zeronull.Text)(&p.Stalled), (*zeronull.Timestamptz)(&p.BeganAt), (*zeronull.Timestamptz)(&p.SteppedAt),
		(*zeronull.Timestamptz)(&p.SettledAt), (*zeronull.Timestamptz)(&p.PurgedAt), (*zeronull.Int8)(&p.Objects), (*zeronull.Int8)(&p.ObjectBytes), (*zeronull.Int8)(&p.Jobs),
		&p.ControlRows, &p.Rows)
	if errors.Is(err, pgx.ErrNoRows) {
		return Deletion{}, errNoDeletion()
	}
	if err != nil {
		return Deletion{}, err
	}
	utc(&d.AskedAt, &d.ApprovedAt, &d.PurgeAfter, &p.BeganAt, &p.SteppedAt, &p.SettledAt, &p.PurgedAt)
	if p.Step != "" {
		d.Purge = &p
	}
	return d, nil
}

func utc(times ...*time.Time) {
	for _, t := range times {
		*t = t.UTC()
	}
}
