package identity

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// importWindow is how many lines are under way at once. It bounds the memory of
// an import, with the size of a line.
const importWindow = 64

// Import makes accounts and devices of lines, through the same protocol as
// everything, into a namespace that is open or still importing. It reads lines
// from next until io.EOF, works on importWindow of them at once, and gives their
// results in the order of the lines. next and result are never called at once.
//
// What comes out is what the lines, done one after the other, would have made: a
// line waits for the earlier ones under way with which it shares a record or a
// key. Its failure stops no other.
//
// A record's id derives from the tenant and the line's key, whoever imports. So
// an import that broke off is sent again, the whole or from anywhere: what is
// there answers exists. Another content under a key that was used is refused,
// idempotency_key_reused, for as long as the record's row lives.
//
// Errors: next's or result's; ctx's; forbidden when the tenant or its layout is
// not served; unavailable when a database can't be reached at the beginning.
// What was given a result is made all the same.
func (s *Service) Import(ctx context.Context, scope tenancy.Scope, next func() (ImportLine, error), result func(ImportResult) error) error {
	r := &importRun{s: s.maintenance, scope: scope, busy: map[importName]*flight{}}
	if err := r.enter(ctx); err != nil {
		return err
	}
	var all sync.WaitGroup
	defer all.Wait() // also behind an error: what was begun ends
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)

	var under []*flight // in the order of their lines
	land := func() error {
		f := under[0]
		under = under[1:]
		<-f.done
		r.forget(f)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return result(f.result)
	}
	for n := 1; ; n++ {
		if len(under) == importWindow {
			if err := land(); err != nil {
				return err
			}
		}
		line, ended := next()
		if ended == nil {
			f := r.begin(n, line)
			under = append(under, f)
			all.Go(func() { r.fly(ctx, f) })
			continue
		}
		for len(under) > 0 {
			if err := land(); err != nil {
				return err
			}
		}
		if ended == io.EOF {
			return nil
		}
		return ended
	}
}

// importRun is one call of Import.
type importRun struct {
	s     *Service // entered for maintenance
	scope tenancy.Scope
	stop  context.CancelCauseFunc // ends the import, and begins no line any more
	busy  map[importName]*flight  // by what it has: the last line under way that does
	weary atomic.Bool             // the last line that waited for a database waited in vain
}

// importName is something that two lines must not work on at once: a record, or
// a lookup key.
type importName struct {
	family domain.Family
	text   string // a record's id, or the key
}

func nameOf(record ref) importName { return importName{record.Family, record.ID.String()} }

func namesOf(links []link) (names []importName) {
	for _, l := range links {
		names = append(names, importName{l.Family, l.Key})
	}
	return names
}

// flight is a line under way.
type flight struct {
	job    *importJob
	after  []*flight // earlier ones that have what this one has or needs
	done   chan struct{}
	result ImportResult
}

// importJob is a line that was understood.
type importJob struct {
	record ref
	has    []importName // its record and its keys
	needs  []importName // what it is refused without
	make   func(context.Context) (exists bool, err error)
}

// enter goes through the gates of every database, so that an import into what
// isn't served fails before its first line.
func (r *importRun) enter(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, db := range r.s.router.Databases() {
		group.Go(func() error {
			e := r.s.entry(r.scope.Tenant, numbersOf(db))
			e.ReadOnly = true
			return tenancy.Run(ctx, db, e, func(context.Context, *tenancy.Tx) error { return nil })
		})
	}
	return group.Wait()
}

// begin reads a line and finds its place behind others.
func (r *importRun) begin(n int, line ImportLine) *flight {
	f := &flight{done: make(chan struct{}), result: ImportResult{Line: n, Key: line.Key}}
	job, err := r.read(line)
	if err != nil {
		f.fail(err)
		return f
	}
	f.job = job
	f.result.Family = job.record.Family
	for _, names := range [][]importName{job.has, job.needs} {
		for _, name := range names {
			if other := r.busy[name]; other != nil {
				f.after = append(f.after, other)
			}
		}
	}
	for _, name := range job.has {
		r.busy[name] = f
	}
	return f
}

func (r *importRun) read(line ImportLine) (*importJob, error) {
	if line.Refused != nil {
		return nil, line.Refused
	}
	if err := checkImportKey(line.Key); err != nil {
		return nil, err
	}
	switch {
	case line.Account != nil && line.Device == nil:
		return r.readAccount(line.Key, *line.Account)
	case line.Device != nil && line.Account == nil:
		return r.readDevice(line.Key, *line.Device)
	default:
		return nil, domain.Invalid("import_line_invalid", "A line is either an account or a device.")
	}
}

// fly makes a line's record, once the lines before it have landed.
func (r *importRun) fly(ctx context.Context, f *flight) {
	defer close(f.done)
	if f.job == nil {
		return
	}
	for _, other := range f.after {
		<-other.done
	}
	f.after = nil // else every line would hold on to all before it
	if ctx.Err() != nil {
		return
	}
	exists, err := r.persist(ctx, f.job.make)
	switch {
	case stopped(err) || domain.KindOf(err) == domain.KindForbidden:
		r.stop(err) // it says nothing of the line
	case err != nil:
		f.fail(err)
	default:
		f.result.ID, f.result.Result = f.job.record.ID, ImportCreated
		if exists {
			f.result.Result = ImportExists
		}
	}
}

func (r *importRun) forget(f *flight) {
	if f.job == nil {
		return
	}
	for _, name := range f.job.has {
		if r.busy[name] == f {
			delete(r.busy, name)
		}
	}
}
