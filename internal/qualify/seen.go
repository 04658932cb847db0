package qualify

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// seen is all that a tenant's readers see of collections, a line for each record and
// each section: identities, revisions, digests, lengths and times, and no contents.
// Every body is read, by its record and in the export, and held to its digest.
func (r *run) seen(ctx context.Context, names []string) (lines []string, err error) {
	for _, name := range names {
		if err := r.records(ctx, name, &lines); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := r.export(ctx, name, &lines); err != nil {
			return nil, fmt.Errorf("%s: the export: %w", name, err)
		}
	}
	return lines, nil
}

func (r *run) records(ctx context.Context, name string, lines *[]string) error {
	page, err := r.Records.Records(ctx, r.scope, name, record.Filter{}, "", recordsEach)
	if err != nil {
		return err
	}
	if len(page.Records) != recordsEach || page.More {
		return fmt.Errorf("%d records are listed, more %t", len(page.Records), page.More)
	}
	for _, listed := range page.Records {
		whole, err := r.Records.RecordWithBodies(ctx, r.scope, name, listed.Key)
		if err != nil {
			return fmt.Errorf("%s: %w", listed.Key, err)
		}
		*lines = append(*lines, fmt.Sprintf("%s %s at %d live %t %v %v", name, whole.Key, whole.Revision, whole.Live, whole.CreatedAt, whole.UpdatedAt))
		for i := range whole.Sections {
			err = errors.Join(err, sound(&whole.Sections[i]))
			*lines = append(*lines, line(&whole.Sections[i]))
		}
		whole.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", listed.Key, err)
		}
	}
	return nil
}

func (r *run) export(ctx context.Context, name string, lines *[]string) error {
	for after, more := int64(0), true; more; {
		page, err := r.Records.Export(ctx, r.scope, name, record.ExportRequest{After: after, Bodies: true})
		if err != nil {
			return err
		}
		for i := range page.Records {
			e := &page.Records[i]
			err = errors.Join(err, sound(&e.Section))
			*lines = append(*lines, fmt.Sprintf("%s at %d: %s", e.Key, e.Revision, line(&e.Section)))
		}
		*lines = append(*lines, fmt.Sprintf("up to %d of %d", page.Next, page.Sequence))
		page.Close()
		if err != nil {
			return err
		}
		after, more = page.Next, page.More
	}
	return nil
}

func line(s *record.Section) string {
	return fmt.Sprintf("%s live %t %v %d bytes by %s, %d at %v", s.Name, s.Live, s.Digest, s.Length, s.Producer, s.Sequence, s.UpdatedAt)
}

// sound holds a live section's body to its digest.
func sound(s *record.Section) error {
	if s.Live && (int64(len(s.Body)) != s.Length || record.DigestOf(s.Body) != s.Digest) {
		return fmt.Errorf("the body of %s isn't what its digest says", s.Name)
	}
	return nil
}

// difference tells where readers see something else; nil where they don't.
func difference(before, after []string) error {
	if len(before) != len(after) {
		return fmt.Errorf("%d lines were seen before, and %d after", len(before), len(after))
	}
	for i := range before {
		if before[i] != after[i] {
			return fmt.Errorf("%q was seen before, and %q after", before[i], after[i])
		}
	}
	return nil
}
