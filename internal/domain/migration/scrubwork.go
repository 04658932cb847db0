package migration

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

const (
	scrubPage     = 64 // sections
	scrubInFlight = 4  // bodies
	// maxUnreachable of one page are told one by one. With more it is the store that is
	// in trouble, and the page is read again when it answers.
	maxUnreachable = 8
)

// Scrub does a slice of a scrub: it reads bodies, page by page, in the order of
// collections and keys, until a time, ctx's end, or the scrub's. Each page's outcome
// is kept with the cursor, so that a killed worker's successor goes on there, and of
// two workers one keeps each page.
//
// What the sections before the cursor have come to since is not looked at again: a
// publication, and a pass of a migration that still goes on, have read their bodies
// back whole before they committed.
//
// Errors: not found migration_not_found, report_not_found; unavailable, of the store
// too where many bodies can't be reached: the scrub then stands where it was, and may
// be gone on with.
func (s *Service) Scrub(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID, until time.Time) (ended bool, err error) {
	var w *scrubber
	for {
		r, overdue, err := s.openScrub(ctx, tenant, id, report)
		switch {
		case err != nil:
			return false, err
		case !r.EndedAt.IsZero():
			return true, nil
		case !time.Now().Before(until), ctx.Err() != nil:
			return false, ctx.Err()
		}
		if w == nil {
			if w, err = s.newScrubber(ctx, tenant, id); err != nil {
				return false, err
			}
		}
		p := r.Scrub
		switch {
		case !p.Stopped && p.Corrupt+p.Missing > 0:
			err = w.stop(ctx, &r)
		case p.Covered, p.Spent != "", overdue:
			if !p.Covered && p.Spent == "" {
				p.Spent = SpentTime
			}
			err = s.endScrub(ctx, &r)
		default:
			err = w.page(ctx, &r)
		}
		if err != nil {
			return false, err
		}
	}
}

func (s *Service) openScrub(ctx context.Context, tenant domain.TenantID, id domain.MigrationID, report domain.ReportID) (r Report, overdue bool, err error) {
	err = s.control.ControlRead(ctx, tenant, func(tx pgx.Tx) error {
		if r, err = reportTx(ctx, tx, sqlOneReport, tenant, id, report); err != nil {
			return err
		}
		if r.Kind != ScrubReport {
			return errNoReport
		}
		overdue, err = overdueTx(ctx, tx, &r)
		return err
	})
	return r, overdue, err
}

// endScrub ends it, unless another worker has moved it: then there is another look.
func (s *Service) endScrub(ctx context.Context, r *Report) error {
	return s.control.ControlTx(ctx, r.Tenant, func(tx pgx.Tx) error {
		_, err := endScrubTx(ctx, tx, r)
		return err
	})
}

// scrubber reads the bodies of a migration's collections.
type scrubber struct {
	*Service
	collections []record.Collection // by number and name
}

func (s *Service) newScrubber(ctx context.Context, tenant domain.TenantID, id domain.MigrationID) (*scrubber, error) {
	m, err := s.Migration(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	all, err := s.covered(ctx, &m)
	return &scrubber{s, all}, err
}

// stop stops a migration that isn't over, for the first body that was wrong. A crash
// between the stop and the note of it stops the migration again.
func (w *scrubber) stop(ctx context.Context, r *Report) error {
	first := r.Scrub.FirstWrong[0]
	_, err := w.Service.stop(ctx, r.Tenant, r.Migration, Stop{
		Category: VerificationFailed, Collection: first.Collection, Key: first.Key, Section: first.Section, NextStep: nextSteps[VerificationFailed],
	})
	if err != nil {
		return err
	}
	next := *r.Scrub
	next.Stopped = true
	_, err = w.keepScrub(ctx, r, next)
	return err
}

// page reads what comes behind the cursor, and keeps what came of it.
func (w *scrubber) page(ctx context.Context, r *Report) error {
	next := *r.Scrub
	if !next.Counted {
		if err := w.count(ctx, r, &next); err != nil {
			return err
		}
	}
	of, found := w.at(next.Collection)
	if !found {
		next.Covered = true
		_, err := w.keepScrub(ctx, r, next)
		return err
	}
	if of.Name != next.Collection {
		next.Collection, next.Key, next.Section = of.Name, "", ""
	}
	all, err := w.records.StoredSections(ctx, r.Tenant, of, next.Key, next.Section, scrubPage)
	if err != nil {
		return err
	}
	last := len(all) < scrubPage
	fits := next.fitting(all)
	if fits < len(all) {
		all, last = all[:fits], false
	}
	if err := w.read(ctx, r, of, all, &next); err != nil {
		return err
	}
	if n := len(all); n > 0 {
		next.Key, next.Section = all[n-1].Key, all[n-1].Section
	}
	if last {
		next.Collection, next.Key, next.Section = w.behind(of), "", ""
		next.Covered = next.Collection == ""
	}
	_, err = w.keepScrub(ctx, r, next)
	return err
}

func (w *scrubber) count(ctx context.Context, r *Report, next *ScrubProgress) error {
	for _, of := range w.collections {
		bodies, bytes, err := w.records.CountStored(ctx, r.Tenant, of)
		if err != nil {
			return err
		}
		next.OfBodies += bodies
		next.OfBytes += bytes
	}
	next.Counted = true
	return nil
}

// at is the collection of a name, or the next one if it isn't there any more.
func (w *scrubber) at(name string) (record.Collection, bool) {
	if name == "" && len(w.collections) > 0 {
		return w.collections[0], true
	}
	i, _ := slices.BinarySearchFunc(w.collections, name, func(c record.Collection, name string) int {
		return cmp.Or(cmp.Compare(record.NumberOf(c.Name), record.NumberOf(name)), cmp.Compare(c.Name, name))
	})
	if i == len(w.collections) {
		return record.Collection{}, false
	}
	return w.collections[i], true
}

// behind is the name of the collection that follows; "" for none.
func (w *scrubber) behind(of record.Collection) string {
	i := slices.IndexFunc(w.collections, func(c record.Collection) bool { return c.ID == of.ID })
	if i+1 == len(w.collections) {
		return ""
	}
	return w.collections[i+1].Name
}

// fitting is how many of the sections the budget has room for. With less than all,
// it is spent.
func (p *ScrubProgress) fitting(all []record.StoredSection) int {
	bodies, bytes := p.OwnBodies, p.OwnBytes
	for i, s := range all {
		if !s.Live {
			continue
		}
		bodies++
		bytes += s.Length
		switch {
		case p.Budget.Bodies > 0 && bodies > p.Budget.Bodies:
			p.Spent = SpentBodies
			return i
		case p.Budget.Bytes > 0 && bytes > p.Budget.Bytes:
			p.Spent = SpentBytes
			return i
		}
	}
	return len(all)
}

// read reads the bodies of sections, a few at once, and counts what came of each.
func (w *scrubber) read(ctx context.Context, r *Report, of record.Collection, all []record.StoredSection, into *ScrubProgress) error {
	states := make([]record.StoredState, len(all))
	whys := make([]error, len(all))
	group, going := errgroup.WithContext(ctx)
	group.SetLimit(scrubInFlight)
	for i, section := range all {
		if !section.Live {
			continue
		}
		group.Go(func() (err error) {
			states[i], whys[i], err = w.records.ReadStored(going, r.Tenant, of, section)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	unreachable := 0
	for i, section := range all {
		into.add(of.Name, section, states[i])
		if states[i] == record.StoredUnreachable {
			if unreachable++; unreachable > maxUnreachable {
				return whys[i]
			}
		}
	}
	return nil
}

// add counts one section. The lists that it adds to are copied: those of the
// progress before stay as they are.
func (p *ScrubProgress) add(collection string, s record.StoredSection, state record.StoredState) {
	p.Sections++
	if !s.Live {
		return
	}
	p.OwnBodies++
	p.OwnBytes += s.Length
	found := ScrubFinding{string(state), collection, s.Key, s.Section, s.Digest, s.Length}
	list := &p.FirstWrong
	switch state {
	case record.StoredSound:
		p.Bodies++
		p.Bytes += s.Length
		return
	case record.StoredChanged:
		p.Changed++
		return
	case record.StoredCorrupt:
		p.Corrupt++
	case record.StoredMissing:
		p.Missing++
	default:
		p.Unreachable++
		list = &p.FirstUnreached
	}
	if len(*list) < maxFindings {
		*list = append(slices.Clone(*list), found)
	}
}
