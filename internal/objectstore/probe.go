package objectstore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Probe asks the store for the bucket, once and out of turn: a store that is
// busy is not down. nil means that it answers, and lets this process in.
func (b *Bucket) Probe(ctx context.Context) error {
	call := b.telemetry.begin(ctx, headBucket, "")
	_, err := b.client.HeadBucket(call.ctx, &s3.HeadBucketInput{Bucket: &b.name})
	o := judge(ctx, err)
	call.end(o)
	if o.verdict.mayPass() {
		return errUnavailable.Because(err)
	}
	return b.conclude(ctx, headBucket, "", o)
}
