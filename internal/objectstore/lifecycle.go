package objectstore

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// Lifecycle reads the bucket's live lifecycle rules. A bucket that answers that it
// has none has none; whatever can't be read or understood is an error, of which
// the caller must assume the worst.
func (b *Bucket) Lifecycle(ctx context.Context) ([]domain.LifecycleRule, error) {
	var document []byte
	err := b.repeat(ctx, getLifecycle, "", func(ctx context.Context) error {
		document = nil
		_, err := b.client.GetBucketLifecycleConfiguration(ctx,
			&s3.GetBucketLifecycleConfigurationInput{Bucket: &b.name}, keepDocument(&document))
		if errorCode(err) == "NoSuchLifecycleConfiguration" {
			document = []byte(noRules)
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	rules, err := parseLifecycle(document)
	if err != nil {
		return nil, errUnavailable.Because(fmt.Errorf("lifecycle rules: %w", err))
	}
	return rules, nil
}

const noRules = `<LifecycleConfiguration/>`

// maxDocument bounds a lifecycle configuration, in bytes: a thousand rules, as S3
// allows, are far less.
const maxDocument = 4 << 20

// keepDocument keeps the answer as it came. The SDK drops what it doesn't know,
// and a rule with something unknown in it is the one to be afraid of.
func keepDocument(document *[]byte) func(*s3.Options) {
	keep := func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleDeserialize(ctx, in)
		answer, ok := out.RawResponse.(*smithyhttp.Response)
		if err != nil || !ok || answer.StatusCode != 200 {
			return out, metadata, err
		}
		text, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
		if err == nil && len(text) > maxDocument {
			err = fmt.Errorf("lifecycle rules of more than %d bytes", maxDocument)
		}
		*document = text
		answer.Body = &replayed{Reader: bytes.NewReader(text), Closer: answer.Body}
		return out, metadata, err
	}
	return s3.WithAPIOptions(func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("KeepDocument", keep), middleware.After)
	})
}

// replayed is an answer's body that was read already.
type replayed struct {
	io.Reader
	io.Closer
}
