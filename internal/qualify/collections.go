package qualify

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Records of a collection, and the sizes of their bodies.
const (
	recordsEach = 24
	usual       = 8 << 10
	chunked     = 600 << 10 // more than SQL keeps in one row
	common      = "the same in several records"
)

// names are of new collections, one for each database that has numbers.
func (r *run) names() []string {
	var names []string
	for _, db := range r.Router.Databases() {
		if len(db.Numbers) > 0 {
			names = append(names, r.nameOn(db))
		}
	}
	return names
}

// nameOn is a name whose number lives on a database. Names are spread over all
// numbers, so one comes soon.
func (r *run) nameOn(db *postgres.Database) string {
	for i := 0; ; i++ {
		name := fmt.Sprintf("qualification-%s-%d", r.id, i)
		if r.Router.Database(record.NumberOf(name)) == db {
			return name
		}
	}
}

// fill makes a collection with every kind of record: with bodies in a row and in
// chunks, empty ones, equal ones, tombstones beside live sections and alone.
func (r *run) fill(ctx context.Context, name string) error {
	if _, _, err := r.Records.CreateCollection(ctx, r.scope, record.NewCollection{Name: name}); err != nil {
		return err
	}
	for i := range recordsEach {
		p := record.Publication{
			Key: fmt.Sprintf("record-%02d", i), OperationID: fmt.Sprint("first-", i), Expect: record.Expectation{Absent: true},
			Bodies: map[string][]byte{"items": random(usual)},
		}
		switch i % 6 {
		case 0, 1:
			p.Bodies["items"] = []byte(common)
		case 2:
			p.Bodies["plans"] = nil
		case 3:
			p.Bodies["decision-packets"] = random(chunked)
		}
		first, err := r.Records.Publish(ctx, r.scope, name, nil, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Key, err)
		}
		if i == 0 {
			r.first[name] = first.Revision
		}
		if err := r.change(ctx, name, i, p.Key, first.Revision); err != nil {
			return fmt.Errorf("%s: %w", p.Key, err)
		}
	}
	return nil
}

// change closes some records, and deletes others. Each is at the revision that its
// publication was told: the first one of a database that was restored isn't 1.
func (r *run) change(ctx context.Context, name string, i int, key string, revision int64) (err error) {
	switch i % 6 {
	case 4:
		_, err = r.Records.Publish(ctx, r.scope, name, nil, record.Publication{
			Key: key, OperationID: fmt.Sprint("second-", i), Expect: record.Expectation{Revision: revision}, Bodies: map[string][]byte{"closed": random(usual)},
		})
	case 5:
		_, err = r.Records.Delete(ctx, r.scope, name, nil, key, revision, fmt.Sprint("second-", i))
	}
	return err
}

func random(size int) []byte {
	body := make([]byte, size)
	rand.Read(body)
	return body
}
