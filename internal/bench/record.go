package bench

import (
	"context"
	"errors"
	"fmt"
)

// RecordOptions of a run.
type RecordOptions struct {
	Options
	Records int // to read from, in each format
}

const (
	bodySize     = 8 << 10
	publishing   = 32 // callers
	updating     = 32
	manySize     = 50 // records a request
	manyCallers  = 4
	exportSize   = 200 // records a page
	exporters    = 8
	largeSize    = 2 << 20 // bytes, in whole MiB
	largeCallers = 16
	largeRecords = 64 // to read from
	overSeveral  = 32 // collections
)

// Records measures what producers and readers of records do most, in both formats,
// beside the object store and the database alone.
func Records(ctx context.Context, o RecordOptions) (outcomes []Outcome, err error) {
	if err := o.verify(); err != nil {
		return nil, err
	}
	if o.Records < exportSize {
		return nil, fmt.Errorf("an export page has %d records: %d are too few to read from", exportSize, o.Records)
	}
	settings, err := storeSettings(o.Environ)
	if err != nil {
		return nil, err
	}
	s, err := newStack(ctx, o.Environ, publishing, o.Log)
	if err != nil {
		return nil, err
	}
	defer s.close()
	store, err := openReferenceStore(ctx, settings, publishing)
	if err != nil {
		return nil, err
	}
	// What is left in the bucket would have to be paid for.
	defer func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, store.empty(ctx, store.prefix), store.empty(ctx, "tenants/"+s.tenantID+"/"), store.bucket.Close())
	}()
	bareServer, err := startReference(ctx, o.Log)
	if err != nil {
		return nil, err
	}
	defer bareServer.Stop()
	o.Note("publishing %d records to read from, in each format", o.Records)
	subject, err := s.fillRecords(ctx, o.Records, store)
	if err != nil {
		return nil, err
	}
	subject.bare = newClient("http://"+bareServer.Address, readers)
	comparisons := subject.small()
	comparisons = append(comparisons, subject.inSQL()...)
	comparisons = append(comparisons, subject.exports()...)
	comparisons = append(comparisons, subject.updates()...)
	comparisons = append(comparisons, subject.large()...)
	return o.measure(ctx, s, comparisons)
}

// records is what is compared: collections in both formats, and what stands beside
// each.
type records struct {
	*stack
	store *referenceStore
	bare  *client // of the bare handlers

	inDatabase readable // at format 1
	inObjects  readable // at format 2
	several    []collection
	big        readable
	rows       []string   // paths of the bare handler's bodies
	objects    [][32]byte // of the reference's objects
	bigObjects [][32]byte
}

// readable is a collection that is read, and one beside it that is written to.
type readable struct {
	from, into collection
	keys       []string
}

func (s *stack) fillRecords(ctx context.Context, n int, store *referenceStore) (*records, error) {
	r := &records{stack: s, store: store}
	var err error
	if r.inDatabase, err = s.fillReadable(ctx, 1, "sql", n, bodySize); err != nil {
		return nil, err
	}
	names := make([]string, overSeveral)
	for i := range names {
		names[i] = fmt.Sprintf("several-%d", i)
	}
	if r.several, err = s.makeCollections(ctx, 1, names...); err != nil {
		return nil, err
	}
	if r.rows, err = s.fillBodies(ctx, n); err != nil {
		return nil, err
	}
	if err := s.keepInStore(ctx); err != nil {
		return nil, err
	}
	if r.inObjects, err = s.fillReadable(ctx, 2, "store", n, bodySize); err != nil {
		return nil, err
	}
	if r.objects, err = store.fill(ctx, n, bodySize); err != nil {
		return nil, err
	}
	if r.big, err = s.fillReadable(ctx, 2, "large", largeRecords, largeSize); err != nil {
		return nil, err
	}
	r.bigObjects, err = store.fill(ctx, largeRecords, largeSize)
	return r, err
}

func (s *stack) fillReadable(ctx context.Context, format int, name string, n, size int) (readable, error) {
	both, err := s.makeCollections(ctx, format, name+"-read", name+"-written")
	if err != nil {
		return readable{}, err
	}
	keys, err := s.fillCollection(ctx, both[0], n, size)
	return readable{both[0], both[1], keys}, err
}
