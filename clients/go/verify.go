package holdfast

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	readersAtOnce = 4
	// pagesShare is how much of the time is for pages, in tenths; records have the rest.
	pagesShare = 7
)

// ReadVerification does the reading of a verification that was begun: as the
// tenant's own programs do, through the API at baseURL, with the verification's
// token. It reads one page of each section's export, and then records by their keys:
// those that the baseline named, and some of those that the pages showed, evenly
// spread. Every body is hashed here. It keeps to the verification's limits, and says
// which of them it reached.
//
// The report has identities, revisions, digests and lengths, and no contents. What
// could not be read is in it as such, so that there is always one to send back.
//
// Errors: only for what was asked: a bad URL, limits that leave nothing.
func ReadVerification(ctx context.Context, baseURL string, v Verification, options ...Option) (VerificationReport, error) {
	l := v.Limits
	if l.Attempts < 1 || l.PageRecords < 1 || l.PhaseSeconds < 1 || l.RequestSeconds < 1 || l.ResponseBytes < 1 {
		return VerificationReport{}, errors.New("holdfast: the limits of the verification leave nothing to read")
	}
	s := newSettings(options)
	wire := &boundedDoer{doer: s.doer, token: v.Token.AccessToken, longest: l.ResponseBytes}
	client, err := NewClientWithResponses(strings.TrimSuffix(baseURL, "/"), WithHTTPClient(wire))
	if err != nil {
		return VerificationReport{}, fmt.Errorf("holdfast: %w", err)
	}
	r := &verifier{client: client, limits: l}
	r.report.StartedAt, r.report.Limits = time.Now().UTC(), []string{}
	phase := time.Duration(l.PhaseSeconds) * time.Second
	ctx, cancel := context.WithTimeout(ctx, phase)
	defer cancel()
	r.readPages(ctx, phase*pagesShare/10, v.Collections)
	r.readRecords(ctx, r.choose(v.Points))
	r.report.EndedAt, r.report.Requests = time.Now().UTC(), wire.count()
	slices.Sort(r.report.Limits)
	return r.report, nil
}

// verifier reads, several things at once, and takes down what it sees.
type verifier struct {
	client *ClientWithResponses
	limits ReadLimits

	mu     sync.Mutex
	report VerificationReport
}

func (r *verifier) readPages(ctx context.Context, limit time.Duration, collections []ReadCollection) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r.report.Pages = []PageRead{}
	for _, c := range collections {
		for _, section := range c.Sections {
			r.report.Pages = append(r.report.Pages, PageRead{Collection: c.Collection, Section: section, Sections: []PageSection{}})
		}
	}
	severalAtOnce(len(r.report.Pages), func(i int) { r.readPage(ctx, &r.report.Pages[i]) })
}

func (r *verifier) readRecords(ctx context.Context, names []RecordName) {
	r.report.Points = make([]PointRead, len(names))
	severalAtOnce(len(names), func(i int) {
		r.report.Points[i] = PointRead{Collection: names[i].Collection, Key: names[i].Key, Sections: []PointSection{}}
		r.readRecord(ctx, &r.report.Points[i])
	})
}

// severalAtOnce calls do for 0 to n-1, and returns when all calls have.
func severalAtOnce(n int, do func(int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range min(readersAtOnce, n) {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}

// choose takes the records that were named, and fills up with those that the pages
// show.
func (r *verifier) choose(named []RecordName) []RecordName {
	chosen := slices.Clone(named[:min(len(named), max(r.limits.Points, 0))])
	known := map[RecordName]bool{}
	for _, name := range chosen {
		known[name] = true
	}
	var shown []RecordName
	for _, page := range r.report.Pages {
		for _, s := range page.Sections {
			if name := (RecordName{Collection: page.Collection, Key: s.Key}); !known[name] {
				known[name] = true
				shown = append(shown, name)
			}
		}
	}
	room := min(r.limits.Points-len(chosen), len(shown))
	for i := range room {
		chosen = append(chosen, shown[i*len(shown)/room])
	}
	return chosen
}

// readPage reads one page of a section's export.
func (r *verifier) readPage(ctx context.Context, into *PageRead) {
	limit, bodies, mark := int64(r.limits.PageRecords), IncludedBodies, MarkUnavailable
	into.Outcome = r.tried(ctx, func(ctx context.Context) error {
		answer, err := r.client.ExportRecordsWithResponse(ctx, into.Collection, &ExportRecordsParams{
			Section: &into.Section, Limit: &limit, Include: &bodies, Unavailable: &mark,
		})
		switch {
		case err != nil:
			return err
		case answer.JSON200 == nil:
			return errNoJSON
		}
		into.More, into.Sections = answer.JSON200.More, make([]PageSection, 0, len(answer.JSON200.Records))
		var wrong error
		hashed, bytes := 0, int64(0)
		for _, s := range answer.JSON200.Records {
			into.Sections = append(into.Sections, PageSection{
				Key: s.Key, Revision: s.Revision, ExportSequence: s.ExportSequence, Live: s.Live, Digest: s.Digest, Length: s.Length,
			})
			switch {
			case !s.Live:
			case s.Unavailable != nil && *s.Unavailable:
				wrong = worse(wrong, errMarked)
			default:
				wrong = worse(wrong, verifyBody(s.Key, s.Section, s.Digest, s.Length, s.Body))
				hashed, bytes = hashed+1, bytes+s.Length
			}
		}
		if wrong == nil {
			r.hashed(hashed, bytes)
		}
		return wrong
	})
}

// readRecord reads one record with its bodies.
func (r *verifier) readRecord(ctx context.Context, into *PointRead) {
	bodies := IncludedBodies
	into.Outcome = r.tried(ctx, func(ctx context.Context) error {
		answer, err := r.client.GetRecordWithResponse(ctx, into.Collection, into.Key, &GetRecordParams{Include: &bodies})
		switch {
		case err != nil:
			return err
		case answer.JSON200 == nil:
			return errNoJSON
		}
		record := answer.JSON200
		into.Revision, into.Sections = record.Revision, make([]PointSection, 0, len(record.Sections))
		hashed, bytes := 0, int64(0)
		for name, s := range record.Sections {
			into.Sections = append(into.Sections, PointSection{
				Section: name, ExportSequence: s.ExportSequence, Live: s.Live, Digest: s.Digest, Length: s.Length,
			})
			if s.Live {
				hashed, bytes = hashed+1, bytes+s.Length
			}
		}
		slices.SortFunc(into.Sections, func(a, b PointSection) int { return strings.Compare(a.Section, b.Section) })
		if err := verifySections(record); err != nil {
			return err
		}
		r.hashed(hashed, bytes)
		return nil
	})
}

func (r *verifier) hashed(bodies int, bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Bodies += bodies
	r.report.Bytes += bytes
}

// errMarked says that a page has a body that can't be had.
var errMarked = &Error{Problem: Problem{Status: http.StatusServiceUnavailable, Code: "body_unavailable"}, RetryAfter: time.Second}

// worse is what a page comes to: a body that is wrong tells more than one that can't
// be had.
func worse(a, b error) error {
	var wrong *UnverifiedBodyError
	if b == nil || errors.As(a, &wrong) {
		return a
	}
	return b
}
