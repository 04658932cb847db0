package objectstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// The adapter beside the SDK alone, at the same concurrency: what verification,
// pacing and telemetry cost.

const benchSize = 8 << 10

// bare is the SDK's client with nothing around it.
func bare(s objectstore.Settings) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: &s.Endpoint, Region: s.Region, UsePathStyle: s.PathStyle,
		Credentials:                credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
		HTTPClient:                 &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	})
}

func BenchmarkWrite(b *testing.B) {
	s := testkit.BodyStore(b)
	b.Run("bare PUT and GET", func(b *testing.B) {
		client := bare(s)
		eachBody(b, func(ctx context.Context, x body) error {
			_, err := client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.Bucket, Key: &x.key, Body: bytes.NewReader(x.bytes),
				IfNoneMatch: aws.String("*"), ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(x.digest[:]))})
			if err != nil {
				return err
			}
			return bareGet(ctx, client, s.Bucket, x)
		})
	})
	b.Run("Ensure", func(b *testing.B) {
		bucket := testkit.OpenBodies(b, s)
		eachBody(b, func(ctx context.Context, x body) error {
			_, err := bucket.Ensure(ctx, x.key, x.bytes, x.digest, false)
			return err
		})
	})
}

func BenchmarkRead(b *testing.B) {
	s := testkit.BodyStore(b)
	bucket := testkit.OpenBodies(b, s)
	x := newBody(testkit.BodyPrefix(b), 0)
	if _, err := bucket.Ensure(b.Context(), x.key, x.bytes, x.digest, false); err != nil {
		b.Fatal(err)
	}
	b.Run("bare GET", func(b *testing.B) {
		client := bare(s)
		parallel(b, func(ctx context.Context) error { return bareGet(ctx, client, s.Bucket, x) })
	})
	b.Run("Fetch", func(b *testing.B) {
		parallel(b, func(ctx context.Context) error {
			_, err := bucket.Fetch(ctx, x.key, x.digest, benchSize)
			return err
		})
	})
}

func bareGet(ctx context.Context, client *s3.Client, bucket string, x body) error {
	answer, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &x.key})
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err == nil && sha256.Sum256(got) != x.digest {
		err = fmt.Errorf("other bytes")
	}
	return err
}

func newBody(prefix string, n int64) body {
	content := bytes.Repeat([]byte(fmt.Sprintf("%016x", n)), benchSize/16)
	digest := sha256.Sum256(content)
	return body{prefix + hex.EncodeToString(digest[:]), content, digest}
}

func eachBody(b *testing.B, do func(context.Context, body) error) {
	prefix := testkit.BodyPrefix(b)
	var n atomic.Int64
	parallel(b, func(ctx context.Context) error { return do(ctx, newBody(prefix, n.Add(1))) })
}

// parallel runs 32 at once.
func parallel(b *testing.B, do func(context.Context) error) {
	b.ReportAllocs()
	b.SetBytes(benchSize)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := do(b.Context()); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
