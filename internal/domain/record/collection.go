package record

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Collection is a tenant's collection.
type Collection struct {
	Name      string // in its one form
	ID        domain.CollectionID
	Format    int16  // FormatSQL or FormatStore
	World     string // whose lease a change needs; "" for none
	Profile   Profile
	Sequence  int64 // of the last change in its export
	CreatedAt time.Time
	Sealed    bool // it has no section in the other format, nor is one looked for there
}

// collection is a collection's row.
type collection struct {
	ref
	id              domain.CollectionID
	format          int16
	world           string
	profile         Profile
	sequence        int64        // the last of the export
	rowIdentity     int64        // the last of sections_in_sql
	claimGeneration int64        // the last
	token           domain.Token // of the last transaction that changed anything in it
	createdAt       time.Time
	sealed          bool  // see Collection
	restored        int64 // its sequence before its database was put back
}

func (c *collection) shown() Collection {
	return Collection{c.name, c.id, c.format, c.world, c.profile, c.sequence, c.createdAt, c.sealed}
}

const collectionColumns = `c.number, c.collection, c.collection_id, c.record_format, c.world_id, c.profile,
       c.export_sequence, c.row_identity, c.claim_generation, c.token, c.created_at, c.sealed, c.restored_sequence`

// scanCollection reads collectionColumns, behind others.
func scanCollection(row pgx.CollectableRow, c *collection, before ...any) (err error) {
	var number int16
	var world *string
	var profile string
	if err := row.Scan(append(before, &number, &c.name, &c.id, &c.format, &world, &profile,
		&c.sequence, &c.rowIdentity, &c.claimGeneration, &c.token, &c.createdAt, &c.sealed, &c.restored)...); err != nil {
		return err
	}
	if world != nil {
		c.world = *world
	}
	c.number, c.createdAt = domain.Number(number), c.createdAt.UTC()
	c.profile, err = parseProfile(profile)
	return err
}

const sqlReadCollection = `
SELECT ` + collectionColumns + ` FROM collections c WHERE c.tenant_id = $1 AND c.number = $2 AND c.collection = $3`

// sqlCreateCollection takes the tenant's format from its gate, which stays as it
// is until the transaction ends. Its counters begin where its number's era does
// (domain.EraStart): there may have been one of that name in a time that a restore
// has taken back. It makes nothing where there is a collection.
const sqlCreateCollection = `
INSERT INTO collections AS c (tenant_id, number, collection, collection_id, record_format, world_id, profile,
       export_sequence, row_identity, claim_generation, token, created_at)
SELECT $1, $2, $3, $4, g.record_format, $5, $6, e.start, 0, e.start, $4, $7
  FROM tenant_gates g
 CROSS JOIN LATERAL (SELECT coalesce((SELECT c.last >> 40 << 40 FROM event_counters c
                                       WHERE c.tenant_id = $1 AND c.number = $2 LIMIT 1), 0) AS start) e
 WHERE g.tenant_id = $1
ON CONFLICT (tenant_id, number, collection) DO NOTHING`

// NewCollection is a collection to be made.
type NewCollection struct {
	Name      string
	Profile   *Profile // DefaultProfile if nil
	BindWorld bool     // to the world of its name, up to the first ':': changes need the world's lease
}

var (
	errCollectionDiffers = domain.Conflict("collection_exists",
		"There is a collection of this name, with another profile or another binding. Neither can be changed.")
	errNoWorld = domain.Conflict("world_not_found",
		"There is no world of the collection's name, up to its first ':', to bind it to. Create the world first.")
)

// CreateCollection makes a collection, or gives the one that is there if it is
// just as wanted. It begins at the tenant's storage format.
//
// Errors: invalid collection_name_invalid, profile_invalid; conflict
// collection_exists, world_not_found; unavailable, outcome unknown.
func (s *Service) CreateCollection(ctx context.Context, scope tenancy.Scope, want NewCollection) (made Collection, created bool, err error) {
	ref, err := refOf(want.Name)
	if err != nil {
		return Collection{}, false, err
	}
	profile := DefaultProfile()
	if want.Profile != nil {
		profile = *want.Profile
	}
	if profile, err = profile.checked(); err != nil {
		return Collection{}, false, err
	}
	var world *string
	if want.BindWorld {
		name := worldOf(ref.name)
		world = &name
	}
	id := domain.NewID[domain.CollectionKind](time.Now())
	var found *collection
	err = tenancy.Run(ctx, s.router.Database(ref.number), s.entry(scope.Tenant, ref.number), func(ctx context.Context, tx *tenancy.Tx) error {
		found = nil
		var now time.Time
		var held *lease.Held
		if world != nil {
			held = lease.Hold(tx, []string{*world})
		}
		tx.QueueNow(&now)
		if err := tx.Send(ctx); err != nil {
			return err
		}
		if world != nil && !held.Exists(*world) {
			return errNoWorld
		}
		tx.Queue(sqlCreateCollection, int16(ref.number), ref.name, id, world, profile.text(), now)
		queueReadCollection(tx, ref, &found)
		return nil
	})
	switch {
	case err != nil:
		return Collection{}, false, err
	case found == nil:
		return Collection{}, false, errors.New("the collection that was made isn't there")
	case !found.profile.equal(profile) || (found.world != "") != want.BindWorld:
		return Collection{}, false, errCollectionDiffers
	}
	return found.shown(), found.id == id, nil
}

func queueReadCollection(tx *tenancy.Tx, ref ref, found **collection) {
	tx.Queue(sqlReadCollection, int16(ref.number), ref.name).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			c := &collection{}
			if err := scanCollection(rows, c); err != nil {
				return err
			}
			*found = c
		}
		return rows.Err()
	})
}

// Collection gives a collection.
//
// Errors: not found collection_not_found, unavailable.
func (s *Service) Collection(ctx context.Context, scope tenancy.Scope, name string) (Collection, error) {
	var found *collection
	err := s.read(ctx, scope, name, func(tx *tenancy.Tx, ref ref) { queueReadCollection(tx, ref, &found) })
	switch {
	case err != nil:
		return Collection{}, err
	case found == nil:
		return Collection{}, errNoCollection
	}
	return found.shown(), nil
}

// read runs what queue queues in one read-only round trip, on the database of a
// collection. A name that none may have is of no collection.
func (s *Service) read(ctx context.Context, scope tenancy.Scope, name string, queue func(tx *tenancy.Tx, ref ref)) error {
	ref, err := refOf(name)
	if err != nil {
		return errNoCollection
	}
	e := s.entry(scope.Tenant, ref.number)
	e.ReadOnly = true
	return tenancy.Run(ctx, s.router.Database(ref.number), e, func(ctx context.Context, tx *tenancy.Tx) error {
		queue(tx, ref)
		return nil
	})
}
