package record

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
)

// Prepared are the records of a capture that are ready to be moved, and what keeps
// the others from it.
type Prepared struct {
	Sound   []*Captured
	Defects []Defect
	Uploads int // objects that were made
	Reuses  int // objects that were there already
}

// Prepare makes the records of a capture ready to be moved: out of SQL it verifies
// their bodies and brings them into the store, each read back whole before the
// next of its pipeline begins; out of the store it reads them, and verifies them.
// Equal bodies go once. No transaction is open. When one fails, no other begins by
// those pipelines, and those of this capture that are under way end before it
// returns. A crash leaves objects that nothing refers to.
//
// Errors: unavailable, of the store: object_corrupt where other bytes stand at the
// key of a body that was to be brought there.
func (s *Service) Prepare(ctx context.Context, c *Capture, via *Pipelines) (p Prepared, err error) {
	for _, r := range c.Records {
		if defects := r.Defects(); len(defects) > 0 {
			p.Defects = append(p.Defects, defects...)
			continue
		}
		p.Sound = append(p.Sound, r)
	}
	switch {
	case s.store == nil:
		err = errStoreUnavailable.Because(errors.New("none is configured"))
	case c.from == FormatStore:
		err = s.bringBodiesBack(ctx, c, &p, via)
	default:
		err = s.bringBodies(ctx, c, &p, via)
	}
	return p, err
}

// bringBodies brings bodies into the store.
func (s *Service) bringBodies(ctx context.Context, c *Capture, p *Prepared, via *Pipelines) error {
	var unique []*CapturedSection
	known := map[Digest]*CapturedSection{}
	for section := range liveSections(p.Sound) {
		first := known[section.Digest]
		switch {
		case first == nil:
			known[section.Digest] = section
			unique = append(unique, section)
		case !bytes.Equal(first.Body, section.Body):
			return errBodyRefused.Because(errors.New("two bodies of one digest"))
		}
	}
	var uploads atomic.Int64
	err := each(ctx, via, unique, func(section *CapturedSection) error {
		uploaded, err := s.store.Ensure(ctx, bodyKey(c.tenant, c.id, section.Digest, 0), section.Body, section.Digest, false)
		if err != nil {
			return &BodyError{section.key, section.Name, err}
		}
		if uploaded {
			uploads.Add(1)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.Uploads = int(uploads.Load())
	p.Reuses = len(unique) - p.Uploads
	return nil
}

// broughtBack is an object, and what became of reading it.
type broughtBack struct {
	objectOf
	body   []byte
	defect string // why it can't be had; "" if it can
}

type objectOf struct {
	digest     Digest
	generation int32
	length     int64
}

func (s *CapturedSection) object() objectOf {
	return objectOf{s.Digest, s.place.generation, s.Length}
}

// bringBodiesBack reads bodies from the store. Records of which one can't be had
// are sound no more.
func (s *Service) bringBodiesBack(ctx context.Context, c *Capture, p *Prepared, via *Pipelines) error {
	var unique []*broughtBack
	known := map[objectOf]*broughtBack{}
	for section := range liveSections(p.Sound) {
		if of := section.object(); known[of] == nil {
			known[of] = &broughtBack{objectOf: of}
			unique = append(unique, known[of])
		}
	}
	err := each(ctx, via, unique, func(o *broughtBack) (err error) {
		if o.length > s.memory.total { // which no process could ever read
			o.defect = DefectLength
			return nil
		}
		o.body, err = s.store.Fetch(ctx, bodyKey(c.tenant, c.id, o.digest, o.generation), o.digest, o.length)
		if o.defect = defective(err); o.defect != "" {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}
	p.Sound = slices.DeleteFunc(p.Sound, func(r *Captured) bool {
		before := len(p.Defects)
		for section := range liveSections([]*Captured{r}) {
			o := known[section.object()]
			if section.Body = o.body; o.defect != "" {
				p.Defects = append(p.Defects, Defect{r.Key, section.Name, o.defect})
			}
		}
		return len(p.Defects) > before
	})
	return nil
}

// liveSections are those of records, in their order.
func liveSections(records []*Captured) func(yield func(*CapturedSection) bool) {
	return func(yield func(*CapturedSection) bool) {
		for _, r := range records {
			for i := range r.Sections {
				if r.Sections[i].Live && !yield(&r.Sections[i]) {
					return
				}
			}
		}
	}
}
