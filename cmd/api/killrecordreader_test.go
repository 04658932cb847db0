package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var withBodies = ptr(holdfast.IncludeBodies("bodies"))

// readRecords reads all through the storm: each body is whole, and one that
// somebody has published there, and what was acknowledged is there, and not in an
// older state.
func (s *recordStorm) readRecords(t *testing.T, name uint64) {
	client := door{s.fleet, longestAnswer, false}.connect(t, s.tenant.key)
	rng := rand.New(rand.NewPCG(s.seed, name))
	for next := int64(0); s.fleet.await(next); next = s.fleet.progress() + 2 {
		c, key := s.collections[rng.IntN(len(s.collections))], fmt.Sprint("key/", rng.IntN(recordKeys))
		if rng.IntN(2) == 0 {
			s.readRecord(t, client, c, key)
		} else {
			s.readBody(t, client, bodyPlace{c, key, []string{"items", "closed", "decision-packets"}[rng.IntN(3)]})
		}
	}
}

func (s *recordStorm) readRecord(t *testing.T, client *holdfast.ClientWithResponses, c, key string) {
	least := s.acknowledged(c, key)
	answer, err := client.GetRecordWithResponse(t.Context(), c, key, &holdfast.GetRecordParams{Include: withBodies})
	switch {
	case s.asksAgain(err), least == 0 && holdfast.IsCode(err, "record_not_found"):
		return
	case err != nil:
		s.fault(t, "%s was acknowledged at revision %d, and reading it gives %v", key, least, err)
		return
	}
	r := answer.JSON200
	if r.Revision < least {
		s.fault(t, "%s was acknowledged at revision %d, and then read at %d", key, least, r.Revision)
	}
	for name, section := range r.Sections {
		if section.Live != (section.Body != nil) {
			s.fault(t, "%s of %s is live: %v, and came with a body: %v", name, key, section.Live, section.Body != nil)
		} else if section.Live {
			s.expectPublished(t, bodyPlace{c, key, name}, *section.Body, *section.Digest)
		}
	}
}

func (s *recordStorm) readBody(t *testing.T, client *holdfast.ClientWithResponses, at bodyPlace) {
	stands := s.stands(at)
	answer, err := client.GetBodyWithResponse(t.Context(), at.collection, at.key, at.section, nil)
	switch {
	case s.asksAgain(err), holdfast.IsCode(err, "section_deleted"):
	case !stands && (holdfast.IsCode(err, "record_not_found") || holdfast.IsCode(err, "section_not_found")):
	case err != nil:
		s.fault(t, "%v was acknowledged (%v), and reading it gives %v", at, stands, err)
	default:
		tag := answer.HTTPResponse.Header.Get("ETag")
		if len(tag) < 2 {
			s.fault(t, "%v has the ETag %s", at, tag)
			return
		}
		s.expectPublished(t, at, answer.Body, tag[1:len(tag)-1])
	}
}

// expectPublished: a body is its digest's, and one that was published there.
func (s *recordStorm) expectPublished(t *testing.T, at bodyPlace, body []byte, digest string) {
	t.Helper()
	s.mu.Lock()
	published := slices.Contains(s.sent[at], digest)
	s.mu.Unlock()
	if digestOf(body) != digest || !published {
		s.fault(t, "%v came with %d bytes of %s as %s, which was published there: %v", at, len(body), digestOf(body), digest, published)
	}
}

func (s *recordStorm) acknowledged(c, key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[recordPlace{c, key}]
}

func (s *recordStorm) stands(at bodyPlace) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.standing[at]
}

// exportFollower follows a collection's export all through the storm.
type exportFollower struct {
	*recordStorm
	client     *holdfast.ClientWithResponses
	collection string
	bodies     bool
	rng        *rand.Rand
	after      int64
	view       map[bodyPlace]holdfast.ExportedSection // without bodies
}

func (s *recordStorm) newExportFollower(t *testing.T, c string, bodies bool, name uint64) *exportFollower {
	t.Helper()
	return &exportFollower{
		recordStorm: s, client: door{s.fleet, longestAnswer, false}.connect(t, s.tenant.key), collection: c, bodies: bodies,
		rng: rand.New(rand.NewPCG(s.seed, name)), view: map[bodyPlace]holdfast.ExportedSection{},
	}
}

func (f *exportFollower) run(t *testing.T) {
	for next := int64(0); f.fleet.await(next); next = f.fleet.progress() + 20 {
		for more := true; more; {
			more = f.page(t)
		}
	}
}

// page reads one page and tells whether there is more. When an answer is lost the
// next one begins at the same place.
func (f *exportFollower) page(t *testing.T) (more bool) {
	params := &holdfast.ExportRecordsParams{After: &f.after, Limit: ptr(int64(1 + f.rng.IntN(20)))}
	if f.bodies {
		params.Include = withBodies
	}
	answer, err := f.client.ExportRecordsWithResponse(t.Context(), f.collection, params)
	if err != nil {
		if !f.asksAgain(err) {
			f.fault(t, "the export of %s: %v", f.collection, err)
		}
		return false
	}
	page := answer.JSON200
	if page.More && len(page.Records) == 0 {
		f.fault(t, "the export of %s has an empty page behind %d, and more behind it", f.collection, f.after)
	}
	last := f.after
	for _, e := range page.Records {
		at := bodyPlace{f.collection, e.Key, e.Section}
		if e.ExportSequence <= last {
			f.fault(t, "the export gives %v at %d behind %d", at, e.ExportSequence, last)
		}
		last = e.ExportSequence
		if f.bodies && e.Live {
			f.expectPublished(t, at, *e.Body, *e.Digest)
		}
		e.Body = nil
		f.view[at] = e
	}
	if page.Next < last {
		f.fault(t, "the export of %s goes on from %d behind %d", f.collection, page.Next, last)
	}
	f.after = page.Next
	return page.More
}
