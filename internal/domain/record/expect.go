package record

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var (
	errStale = domain.PreconditionFailed("revision_stale",
		"The record has changed since that revision. Read it, and decide anew.")
	errExists = domain.PreconditionFailed("record_exists",
		"There is a record with a live section under this key already.")
	errDigests = domain.Conflict("digest_mismatch",
		"A section isn't what was expected. Read the record, and decide anew.")
	errFenceReused = domain.Conflict("fence_revision_reused",
		"Something else was published under this revision of the fence key. A revision is used once; go on with the next.")
)

// expect compares the record with what the publication expects of it. A conflict
// shows the record as it stands.
func (c *locked) expect(p *Publication) error {
	t := c.tuples[p.Key]
	standing := func(err *domain.Error) error {
		if t == nil {
			return err
		}
		return err.With("record", t.shown(c.name))
	}
	switch e := &p.Expect; {
	case e.Absent && t != nil && t.live:
		return standing(errExists)
	case e.Revision != 0 && (t == nil || !t.live):
		return errNoRecord
	case e.Revision != 0 && t.revision != e.Revision:
		return standing(errStale)
	}
	for _, section := range slices.Sorted(maps.Keys(p.Expect.Digests)) {
		if !c.profile.has(section) {
			return errNoSection("/expect/" + escaped(section))
		}
		var has *Digest
		if t != nil && t.sections[section] != nil && t.sections[section].Live {
			has = &t.sections[section].Digest
		}
		if want := p.Expect.Digests[section]; (has == nil) != (want == nil) || has != nil && *has != *want {
			return standing(errDigests.With("section", section))
		}
	}
	return nil
}

// passes tells what becomes of a publication under a fence, and gives the fence
// that stands then.
func (c *locked) passes(p *Publication, f *Fence) (Outcome, *Fence, error) {
	stands := c.fences[f.Key]
	switch {
	case stands == nil || stands.revision < f.Revision:
		return Published, f, nil
	case stands.revision > f.Revision:
		return Superseded, &Fence{f.Key, stands.revision}, nil
	case stands.item == p.Key && stands.content == p.content():
		return Deduplicated, f, nil
	}
	return "", nil, errFenceReused
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
