package identity

import (
	"context"

	"go.opentelemetry.io/otel"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Reconciling puts a tenant's directory in step again after databases were put back
// to an earlier time, each to one of its own.
type Reconciling struct {
	Tenant   domain.TenantID
	Policy   HandlePolicy
	Restored *domain.Restored
	// Keep are the records that keep a key which another one has too. They have to
	// be named, one by one: nothing in the databases says whose a key is.
	Keep map[domain.RecordID]bool
	// Found is told each key that stays two records'. It is never called twice at
	// once.
	Found func(DoubleOwner) error
}

// Reconciled counts what a reconciliation did.
type Reconciled struct {
	Operations     int64 `json:"operations"`      // that were under way and are finished or taken back
	ClaimsRemoved  int64 `json:"claims_removed"`  // that their owner doesn't know
	ClaimsMade     int64 `json:"claims_made"`     // of keys that a record has
	DevicesRevoked int64 `json:"devices_revoked"` // whose account is gone
	LinksMade      int64 `json:"links_made"`      // from an account to a device of its own
	LinksDoubted   int64 `json:"links_doubted"`   // to a device that isn't the account's; the cleanup removes them
	Records        int64 `json:"records"`         // that were taken on to a revision that nobody has seen
	Resolved       int64 `json:"resolved"`        // keys of two records, of which one has them now
	Doubles        int64 `json:"doubles"`         // keys of two records that are undecided
}

// Reconcile makes true again, of a tenant, what the claims protocol promises and a
// restore may have broken. It assumes nothing of what happened in the time that was
// lost, and goes by the records, as everything else does:
//
//  1. The streams of the restored numbers go on at their next era, so that a place
//     in them that was given out in the lost time is never given out again.
//  2. Operations that touch a restored number are finished or taken back, whoever's
//     they are: their other half may be lost, and their callers can't go on, since
//     the restored numbers are closed.
//  3. Claims, in restored numbers or of records there, that their owner doesn't know
//     are removed. That a token which has left its row never returns isn't so behind
//     a restore; but then its record has it, and so its key too, and the claim is
//     known.
//  4. Keys, in restored numbers or of records there, get the claims that they lack.
//     One that another record has too stays with neither silently: it is told, until
//     somebody says whose it is (Keep). A tombstone gives its handle up by itself.
//  5. Approved devices get their links; devices of accounts that are gone are
//     revoked; links that no device agrees with are put in doubt.
//  6. Each account and device of a restored number comes to a revision of the next
//     era, with an event that says so. So no ETag of the lost time matches again.
//
// The restored numbers have to be closed, and the others may serve. It works in
// bounded pages and may die anywhere: what was done is found done, and the rest is
// done by repeating it.
//
// Errors: Found's; unavailable; outcome unknown. Whoever gets one repeats it.
func (s *Service) Reconcile(ctx context.Context, r Reconciling) (Reconciled, error) {
	restoring := newService(s.router, tenancy.Restore, s.secrets, Options{
		Deadline: s.deadline, Quarantine: s.quarantine, Retention: s.retention, CodeTerm: s.codeTerm, RefreshTerm: s.refreshTerm,
		Faults: s.faults, Tracing: otel.GetTracerProvider(),
	})
	restoring.maintenance = restoring
	look := restoring.newInspection(r.Tenant, nil)
	look.purpose = tenancy.Restore
	c := &reconciliation{inspection: look, Reconciling: r}
	for _, step := range []func(context.Context) error{
		c.leaveEras,
		c.onEveryRun(c.operations),
		c.onEveryRun(c.unknownClaims),
		c.onEveryRun(c.keysOfAccounts), c.onEveryRun(c.keysOfDevices),
		c.onEveryRun(c.approvedDevices), c.onEveryRun(c.doubtfulLinks),
		c.newRevisions,
	} {
		if err := step(ctx); err != nil {
			return c.done, err
		}
	}
	return c.done, nil
}

// reconciliation is one tenant's. It makes one step after the other, each over all
// databases, since a step rests on what the ones before it have cleared away.
type reconciliation struct {
	*inspection
	Reconciling
	done Reconciled
}

// touches tells that a key or its record was put back.
func (c *reconciliation) touches(record ref, key link) bool {
	return c.Restored.Has(record.Number) || c.Restored.Has(key.Number)
}

func (c *reconciliation) onEveryRun(look func(context.Context, *inspectedRun) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for first := domain.Number(0); int(first) < domain.Numbers; {
			db, last := c.s.run(first)
			if err := look(ctx, &inspectedRun{inspection: c.inspection, db: db, first: first, last: last}); err != nil {
				return err
			}
			first = last + 1
		}
		return nil
	}
}

// home is the database of a record.
func (c *reconciliation) home(record ref) *postgres.Database {
	return c.s.router.Database(record.Number)
}
