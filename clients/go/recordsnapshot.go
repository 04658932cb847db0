package holdfast

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// TakeSnapshot asks for a snapshot of a collection, waits until a worker has made it,
// and gives it complete. ctx limits that, so give it an end. ReadSnapshot reads it.
//
// Errors: *SnapshotFailedError; *Error with snapshot_running (409) while another is
// being made; those of ctx, and then the snapshot may be made all the same.
func TakeSnapshot(ctx context.Context, client *ClientWithResponses, collection CollectionName) (Snapshot, error) {
	asked, err := client.RequestSnapshotWithResponse(ctx, collection, nil)
	switch {
	case err != nil:
		return Snapshot{}, err
	case asked.JSON202 == nil:
		return Snapshot{}, errNoJSON
	}
	for looks := 1; ; looks++ {
		if err := wait(ctx, min(backoff(looks), defaultLongestPause)); err != nil {
			return Snapshot{}, err
		}
		page, err := snapshotPart(ctx, client, collection, asked.JSON202.SnapshotID, nil)
		if err != nil {
			return Snapshot{}, err
		}
		switch page.Snapshot.State {
		case SnapshotComplete:
			return page.Snapshot, nil
		case SnapshotFailed:
			return Snapshot{}, &SnapshotFailedError{page.Snapshot}
		}
	}
}

// SnapshotFailedError says that a snapshot could not be made; its Failure says why.
type SnapshotFailedError struct{ Snapshot Snapshot }

func (e *SnapshotFailedError) Error() string {
	why := "no reason is given"
	if e.Snapshot.Failure != nil {
		why = e.Snapshot.Failure.Code
	}
	return fmt.Sprintf("holdfast: the snapshot %s failed: %s", e.Snapshot.SnapshotID, why)
}

// ReadSnapshot gives the sections of a complete snapshot, straight from the object
// store, each verified. A section may come more than once: apply them in order, and
// the last one holds. When all are applied they are the collection as it stood at the
// snapshot's ExportSequence, and FollowExport goes on behind that.
//
// An error is the last to come, and what came before it is not the whole. It is an
// *UnverifiedBodyError where a part, or a body in it, is not what it must be.
// A part, of about 8 MiB, is held in memory. The client must be one that Connect made.
func ReadSnapshot(ctx context.Context, client *ClientWithResponses, collection CollectionName, snapshot string) iter.Seq2[ExportedSection, error] {
	return func(yield func(ExportedSection, error) bool) {
		var cursor *Cursor
		for {
			page, err := snapshotPart(ctx, client, collection, snapshot, cursor)
			if err == nil && page.Snapshot.State != SnapshotComplete {
				err = fmt.Errorf("holdfast: the snapshot %s is %s", snapshot, page.Snapshot.State)
			}
			if err != nil {
				yield(ExportedSection{}, err)
				return
			}
			for _, part := range page.Parts {
				if err := readPart(ctx, client, part, yield); err != nil {
					if err != errEnough {
						yield(ExportedSection{}, fmt.Errorf("part %d of the snapshot %s: %w", part.Ordinal, snapshot, err))
					}
					return
				}
			}
			if cursor = page.NextCursor; cursor == nil {
				return
			}
		}
	}
}

// errEnough says that the caller wants no more.
var errEnough = errors.New("enough")

// snapshotPart reads a snapshot with one part, whose URL is fresh so.
func snapshotPart(ctx context.Context, client *ClientWithResponses, collection CollectionName, snapshot string, cursor *Cursor) (SnapshotPage, error) {
	one := Limit(1)
	answer, err := client.GetSnapshotWithResponse(ctx, collection, snapshot, &GetSnapshotParams{Limit: &one, Cursor: cursor})
	switch {
	case err != nil:
		return SnapshotPage{}, err
	case answer.JSON200 == nil:
		return SnapshotPage{}, errNoJSON
	}
	return *answer.JSON200, nil
}

// readPart gives the lines of a part, once all of it is verified.
func readPart(ctx context.Context, client *ClientWithResponses, part SnapshotPart, yield func(ExportedSection, error) bool) error {
	var lines bytes.Buffer
	d, err := newDownload(client, &lines)
	if err != nil {
		return err
	}
	d.presign = func(context.Context) (PresignedBody, error) {
		return PresignedBody{URL: part.URL, Digest: part.Digest, Length: part.Length}, nil
	}
	if err := d.run(ctx); err != nil {
		return err
	}
	decoder := json.NewDecoder(&lines)
	for n := 0; ; n++ {
		var section ExportedSection
		switch err := decoder.Decode(&section); {
		case err == io.EOF && n == part.Lines:
			return nil
		case err != nil:
			return fmt.Errorf("holdfast: %d of %d lines can be read: %w", n, part.Lines, err)
		}
		if section.Live {
			if err := verifyBody(section.Key, section.Section, section.Digest, section.Length, section.Body); err != nil {
				return err
			}
		}
		if !yield(section, nil) {
			return errEnough
		}
	}
}
