package holdfast

import (
	"context"
	"errors"
	"fmt"
)

// base64Up is up to how many bytes of bodies go along in JSON.
const base64Up = 32 << 10

// Published is what a publication came to.
type Published struct {
	Receipt       // Outcome is OutcomePublished, OutcomeDeduplicated or OutcomeSuperseded
	Replayed bool // an earlier try did it, and this is its receipt again
}

// Publish changes a record by compare-and-swap, and gives the receipt when the
// change is durable. Where an answer is lost, says that nobody can know the outcome,
// or asks for a later try (503, 429), the same is sent again under the same
// operation id until there is an answer; ctx is what limits that, so give it an end.
// It is made once.
//
// Large bodies go as they are, in multipart/form-data, small ones in JSON.
//
// A *RecordConflictError says that the record isn't as expected, and how it stands.
// Any other *Error is a refusal, and nothing was published: fenced where another
// writer has the world, claim_lost, operation_id_reused, and the rest of the API's.
// Any other error, and one of ctx, leaves the outcome open; publish the same under
// the same OperationID again, or look for its receipt. The client must be one that
// Connect made.
func Publish(ctx context.Context, client *ClientWithResponses, collection CollectionName, key ItemKey, change RecordChange) (Published, error) {
	once, err := singly(client, always)
	if err != nil {
		return Published{}, err
	}
	change = change.named()
	send, err := change.sender(once, collection, key)
	if err != nil {
		return Published{}, err
	}
	var published Published
	err = untilAnswered(ctx, func(ctx context.Context) error {
		answer, err := send(ctx)
		switch {
		case err != nil:
			return err
		case answer.JSON200 == nil:
			return fmt.Errorf("holdfast: the answer to a publication is no receipt: %s", answer.Status())
		}
		published = Published{Receipt: *answer.JSON200, Replayed: answer.Headers200.IdempotentReplayed != nil}
		return nil
	})
	if err != nil {
		return Published{}, change.conflictIn(err)
	}
	return published, change.confirm(&published.Receipt)
}

// sender makes tries of the change.
func (c *RecordChange) sender(once *ClientWithResponses, collection CollectionName, key ItemKey) (func(context.Context) (*PutRecordResponse, error), error) {
	params := c.params()
	if c.size() <= base64Up {
		publication := c.publication()
		return func(ctx context.Context) (*PutRecordResponse, error) {
			return once.PutRecordWithResponse(ctx, collection, key, params, publication)
		}, nil
	}
	parts, err := newChangeParts(c)
	if err != nil {
		return nil, fmt.Errorf("holdfast: %w", err)
	}
	return func(ctx context.Context) (*PutRecordResponse, error) {
		return once.PutRecordWithBodyWithResponse(ctx, collection, key, params, parts.contentType, parts.reader(), parts.describe)
	}, nil
}

// conflictIn gives an error its type where it shows a record.
func (c *RecordChange) conflictIn(err error) error {
	var answered *Error
	if !errors.As(err, &answered) || answered.Record == nil {
		return err
	}
	if c.ConflictBodies {
		if unverified := verifySections(answered.Record); unverified != nil {
			return errors.Join(err, unverified)
		}
	}
	return &RecordConflictError{Record: *answered.Record, Err: answered}
}

// confirm holds a receipt to what was sent: the service has the bytes that the
// caller has.
func (c *RecordChange) confirm(receipt *Receipt) error {
	if receipt.Outcome == OutcomeSuperseded {
		return nil
	}
	for _, change := range receipt.Changes {
		body, sent := c.Sections[change.Section]
		if !sent {
			continue
		}
		if change.Digest == nil || *change.Digest != digestOf(body) || change.Length != int64(len(body)) {
			return fmt.Errorf("holdfast: the receipt of operation %s is of another body of section %s than was sent", c.OperationID, change.Section)
		}
	}
	return nil
}
