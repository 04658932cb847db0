package testkit

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
)

// OwnBucket is BodyStore with a bucket for the test alone, for what is a whole
// bucket's: its lifecycle rules. It is deleted when the test ends, with all that
// is in it.
func OwnBucket(t testing.TB) objectstore.Settings {
	t.Helper()
	s := BodyStore(t)
	s.Bucket = "holdfast-test-" + domain.RandomID[domain.TenantKind]().String()
	client := storeClient(s)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &s.Bucket}); err != nil {
		t.Fatalf("make the test's bucket: %v", err)
	}
	bucket := OpenBodies(t, s)
	t.Cleanup(func() {
		err := deleteBelow(context.Background(), bucket, "")
		_, rules := client.DeleteBucketLifecycle(context.Background(), &s3.DeleteBucketLifecycleInput{Bucket: &s.Bucket})
		_, gone := client.DeleteBucket(context.Background(), &s3.DeleteBucketInput{Bucket: &s.Bucket})
		if err := errors.Join(err, rules, gone); err != nil {
			t.Errorf("delete the test's bucket: %v", err)
		}
	})
	return s
}

// SetLifecycle gives an OwnBucket lifecycle rules; none at all, with no rules. The
// stack's store keeps them, and never carries them out.
func SetLifecycle(t testing.TB, s objectstore.Settings, rules ...types.LifecycleRule) {
	t.Helper()
	var err error
	if len(rules) == 0 {
		_, err = storeClient(s).DeleteBucketLifecycle(t.Context(), &s3.DeleteBucketLifecycleInput{Bucket: &s.Bucket})
	} else {
		_, err = storeClient(s).PutBucketLifecycleConfiguration(t.Context(), &s3.PutBucketLifecycleConfigurationInput{
			Bucket: &s.Bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: rules},
		})
	}
	if err != nil {
		t.Fatalf("set the bucket's lifecycle rules: %v", err)
	}
}

// ExpireBelow is a rule that deletes what is a day old below a prefix.
func ExpireBelow(prefix string) types.LifecycleRule {
	return types.LifecycleRule{
		ID:         aws.String("expire"),
		Status:     types.ExpirationStatusEnabled,
		Filter:     &types.LifecycleRuleFilter{Prefix: aws.String(prefix)},
		Expiration: &types.LifecycleExpiration{Days: aws.Int32(1)},
	}
}

// storeClient does what no process of Holdfast may.
func storeClient(s objectstore.Settings) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &s.Endpoint, Region: s.Region, UsePathStyle: s.PathStyle,
		Credentials: credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
	})
}
