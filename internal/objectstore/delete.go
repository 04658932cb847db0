package objectstore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"
)

// deletesAtOnce leaves others their turn.
const deletesAtOnce = 16

// Delete deletes the objects at keys; those that are gone already are no error.
// After an error some of them may be left.
//
// Each is a request of its own: S3's call for many wants a checksum of a sort
// that not every store takes.
func (b *Bucket) Delete(ctx context.Context, keys ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deletesAtOnce)
	for _, key := range keys {
		group.Go(func() error { return b.deleteOne(ctx, key) })
	}
	return group.Wait()
}

func (b *Bucket) deleteOne(ctx context.Context, key string) error {
	err := b.repeat(ctx, deleteObject, key, func(ctx context.Context) error {
		_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: &key})
		return err
	})
	if isMissing(err) {
		return nil
	}
	return err
}
