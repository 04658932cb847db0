package holdfast

import (
	"context"
	"errors"
	"net/http"
)

// ReadRecord reads a record with the bodies of its live sections, all of one
// revision, and gives them when each has the length and the SHA-256 that the metadata
// says.
//
// Errors: *UnverifiedBodyError, and *Error with body_unavailable (503) where a body
// can't be had: keep what you had. It is tried as often as the client's other
// requests. The client must be one that Connect made.
func ReadRecord(ctx context.Context, client *ClientWithResponses, collection CollectionName, key ItemKey) (Record, error) {
	bodies := IncludedBodies
	var record Record
	err := untilRead(ctx, client, func(ctx context.Context, once *ClientWithResponses) error {
		answer, err := once.GetRecordWithResponse(ctx, collection, key, &GetRecordParams{Include: &bodies})
		switch {
		case err != nil:
			return err
		case answer.JSON200 == nil:
			return errNoJSON
		}
		record = *answer.JSON200
		return verifySections(&record)
	})
	if err != nil {
		return Record{}, err
	}
	return record, nil
}

// BodyCopy is a caller's copy of a section's body, verified. The zero value is none
// yet.
type BodyCopy struct {
	Bytes  []byte
	Digest Digest // "" where there is no copy yet; a copy may well be empty
}

// Refresh brings the copy up to date, and tells whether that changed it. A body that
// the copy is of already is not sent again. What comes instead is verified before
// the copy is replaced.
//
// On any error the copy stays what it was, to go on with: *Error with
// body_unavailable (503) where the body can't be had, section_deleted (410) and
// section_not_found (404) where there is none any more, *UnverifiedBodyError, no
// answer at all. It is tried as often as the client's other requests. The client must
// be one that Connect made.
func (c *BodyCopy) Refresh(ctx context.Context, client *ClientWithResponses, collection CollectionName, key ItemKey, section SectionName) (changed bool, err error) {
	var params GetBodyParams
	if c.Digest != "" {
		tag := bodyTag(c.Digest)
		params.IfNoneMatch = &tag
	}
	err = untilRead(ctx, client, func(ctx context.Context, once *ClientWithResponses) error {
		answer, err := once.GetBodyWithResponse(ctx, collection, key, section, &params)
		if err != nil || answer.StatusCode() == http.StatusNotModified && c.Digest != "" {
			return err
		}
		digest := taggedDigest(answer.HTTPResponse.Header)
		switch {
		case answer.StatusCode() != http.StatusOK || digest == "":
			return &UnverifiedBodyError{Key: key, Section: section, Reason: errors.New("the answer has no digest")}
		case digest != digestOf(answer.Body):
			return &UnverifiedBodyError{key, section, digest, errOtherBytes}
		}
		changed = digest != c.Digest
		*c = BodyCopy{Bytes: answer.Body, Digest: digest}
		return nil
	})
	return changed, err
}

// ReadBody reads a section's body as it is now, and gives it when it is verified. Its
// errors are BodyCopy.Refresh's. For bodies that are too large to be held in memory
// there is DownloadBody.
func ReadBody(ctx context.Context, client *ClientWithResponses, collection CollectionName, key ItemKey, section SectionName) (BodyCopy, error) {
	var read BodyCopy
	_, err := read.Refresh(ctx, client, collection, key, section)
	return read, err
}

// untilRead calls with a client that tries once, as often as the client itself would
// try: also where an answer began and broke off, which the client doesn't see.
func untilRead(ctx context.Context, client *ClientWithResponses, call func(context.Context, *ClientWithResponses) error) error {
	_, connected, err := connection(client)
	if err != nil {
		return err
	}
	once, err := singly(client, always)
	if err != nil {
		return err
	}
	p := patience{attempts: connected.attempts}
	for {
		err := call(ctx, once)
		if err == nil || !p.waits(ctx, err) {
			return err
		}
	}
}

var errNoJSON = errors.New("holdfast: the answer isn't what was asked for")
