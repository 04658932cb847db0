package record

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

var (
	errPrimaries = domain.Invalid("primaries_exclusive",
		"A record has one live primary: a publication writes at most one, which tombstones the others.").At("/sections")
	errPrimaryMissing = domain.Conflict("primary_missing",
		"A section that the publication writes accompanies a primary, and the record would have none live that it may accompany.")
)

// publish makes a publication: it compares, and swaps. What it gives is kept as
// the operation's receipt.
func (c *locked) publish(p *Publication) (Receipt, error) {
	fingerprint := p.fingerprint()
	p.grows = 0
	switch stored, known, err := c.replay(p.OperationID, fingerprint); {
	case err != nil:
		return Receipt{}, err
	case known:
		receipt := *stored.Publication // of the same fingerprint, and so a publication's
		receipt.Replayed = true
		return receipt, nil
	}
	if err := c.admits(p); err != nil {
		return Receipt{}, err
	}
	receipt := Receipt{OperationID: p.OperationID, Key: p.Key, Outcome: Published, Changes: []Change{}, At: c.now}
	if f := p.Expect.Fence; f != nil {
		var err error
		if receipt.Outcome, receipt.Fence, err = c.passes(p, f); err != nil {
			return Receipt{}, err
		}
	}
	if receipt.Outcome == Published {
		if err := c.apply(p, &receipt); err != nil {
			return Receipt{}, err
		}
	}
	if t := c.tuples[p.Key]; t != nil {
		receipt.Revision = t.revision
	}
	if p.Expect.Fence != nil && receipt.Outcome == Published {
		f := p.Expect.Fence
		c.fences[f.Key] = &standingFence{f.Revision, p.Key, p.content(), true}
	}
	c.keep(p.OperationID, fingerprint, Stored{Publication: &receipt})
	return receipt, nil
}

// admits holds a publication to its collection and its claim, and to what it
// expects of the record.
func (c *locked) admits(p *Publication) error {
	primaries := 0
	for section := range p.Bodies {
		switch {
		case !c.profile.has(section):
			return errNoSection("/sections/" + escaped(section))
		case c.profile.isPrimary(section):
			primaries++
		}
	}
	for i, section := range p.Tombstones {
		if !c.profile.has(section) {
			return errNoSection(fmt.Sprintf("/tombstones/%d", i))
		}
	}
	if primaries > 1 {
		return errPrimaries
	}
	if p.Claim != nil {
		if err := c.demandClaim(p); err != nil {
			return err
		}
	}
	return c.expect(p)
}

// apply changes the record's sections, those that are named and those that follow
// from the profile, and numbers the changes.
func (c *locked) apply(p *Publication, receipt *Receipt) error {
	t := c.tuples[p.Key]
	live, err := c.wouldLive(p)
	if err != nil {
		return err
	}
	p.grows = total(live) - total(t.liveLengths())
	if c.format == FormatStore && len(p.Bodies) > 0 && !p.stored && !c.rehearsing {
		return errNotStored
	}
	if t == nil {
		t = &tuple{key: p.Key, createdAt: c.now, sections: map[string]*slot{}}
		c.tuples[p.Key] = t
	}
	for _, section := range c.profile.Sections() {
		_, written := p.Bodies[section]
		_, stays := live[section]
		s := t.sections[section]
		if !written && (stays || s == nil || !s.Live) {
			continue
		}
		if s == nil {
			s = &slot{}
			t.sections[section] = s
		}
		c.write(s, section, p, written)
		receipt.Changes = append(receipt.Changes, s.change())
	}
	if len(receipt.Changes) > 0 {
		t.revision = max(t.revision, domain.EraStart(c.sequence)) + 1 // no revision of a time that was lost comes again
		t.live, t.updatedAt = len(live) > 0, later(c.now, t.updatedAt)
	}
	return nil
}

// wouldLive gives the lengths of the sections that are live behind the
// publication, if it may be made.
func (c *locked) wouldLive(p *Publication) (map[string]int64, error) {
	t := c.tuples[p.Key]
	live := t.liveLengths()
	for section, body := range p.Bodies {
		live[section] = int64(len(body))
	}
	for _, section := range p.Tombstones {
		delete(live, section)
	}
	if p.everything {
		clear(live)
	}
	if err := c.profile.settle(live, p); err != nil {
		return nil, err
	}
	switch {
	case len(p.Bodies) > 0 && total(live) > c.limits.Record:
		return nil, errTooLarge(c.limits).At("/sections")
	case t == nil && len(live) == 0:
		return nil, errNoRecord
	}
	return live, nil
}

// settle takes from the live sections what the profile says goes with what was
// published.
func (p Profile) settle(live map[string]int64, by *Publication) error {
	for section := range by.Bodies {
		if !p.isPrimary(section) {
			continue
		}
		for _, other := range p.Primaries {
			if other != section {
				delete(live, other)
			}
		}
	}
	for _, companion := range slices.Collect(maps.Keys(live)) {
		if p.isPrimary(companion) {
			continue
		}
		accompanies := slices.ContainsFunc(p.Companions[companion], func(primary string) bool { _, is := live[primary]; return is })
		if accompanies {
			continue
		}
		if _, written := by.Bodies[companion]; written {
			return errPrimaryMissing
		}
		delete(live, companion)
	}
	return nil
}

// write makes a section live with its new body, or a tombstone.
func (c *locked) write(s *slot, section string, p *Publication, live bool) {
	c.sequence++
	s.Section = Section{
		Name: section, Live: live, Producer: p.Producer, Sequence: c.sequence,
		UpdatedAt: later(c.now, s.UpdatedAt), place: place{format: c.format},
	}
	s.body = nil
	if !live {
		return
	}
	body := p.Bodies[section]
	s.Digest, s.Length = p.digests[section], int64(len(body))
	if c.format == FormatSQL {
		s.body = body
		s.place.chunked = len(body) > chunkSize
	}
}

func total(lengths map[string]int64) (bytes int64) {
	for _, length := range lengths {
		bytes += length
	}
	return bytes
}

func (s *slot) change() Change {
	change := Change{Section: s.Name, Live: s.Live, Length: s.Length, Sequence: s.Sequence}
	if s.Live {
		digest := s.Digest
		change.Digest = &digest
	}
	return change
}

// liveLengths are the lengths of the live sections' bodies, in a map of the
// caller's own.
func (t *tuple) liveLengths() map[string]int64 {
	live := map[string]int64{}
	if t == nil {
		return live
	}
	for name, s := range t.sections {
		if s.Live {
			live[name] = s.Length
		}
	}
	return live
}
