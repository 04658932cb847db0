package objectstore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// MaxListed is the most objects that one listing gives.
const MaxListed = 1000

// Object is what a listing tells.
type Object = domain.Object

// List gives the first objects whose keys begin with prefix and come after the
// key after ("" for the first ones), in the order of their keys' bytes: at most
// limit of them, 1 to MaxListed. more tells that others follow the last one.
func (b *Bucket) List(ctx context.Context, prefix, after string, limit int) (objects []Object, more bool, err error) {
	input := &s3.ListObjectsV2Input{
		Bucket:  &b.name,
		Prefix:  aws.String(prefix),
		MaxKeys: aws.Int32(int32(min(max(limit, 1), MaxListed))),
	}
	if after != "" {
		input.StartAfter = aws.String(after)
	}
	var page *s3.ListObjectsV2Output
	err = b.repeat(ctx, listObjects, "", func(ctx context.Context) (err error) {
		page, err = b.client.ListObjectsV2(ctx, input)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	objects = make([]Object, len(page.Contents))
	for i, o := range page.Contents {
		objects[i] = Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), ModifiedAt: aws.ToTime(o.LastModified)}
	}
	return objects, aws.ToBool(page.IsTruncated), nil
}
