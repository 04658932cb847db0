package main_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
)

// client is an S3 client with the session's settings.
func (s *session) client() *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(s.env["HOLDFAST_BODIES_ENDPOINT"]),
		Region:       s.env["AWS_REGION"],
		Credentials:  credentials.NewStaticCredentialsProvider(s.env["AWS_ACCESS_KEY_ID"], s.env["AWS_SECRET_ACCESS_KEY"], ""),
		UsePathStyle: true,
	})
}

func objectsComeBack(t *testing.T, s *session) {
	client, bucket := s.client(), aws.String(s.env["HOLDFAST_BODIES_BUCKET"])
	for name, body := range map[string][]byte{
		"empty":                     {},
		"plain":                     []byte("some bytes"),
		"a/deep/one":                []byte("deep"),
		"with space + plus % ü /=&": []byte("escaped"),
		"large, beyond one buffer":  bytes.Repeat([]byte("0123456789abcdef"), 1<<18),
	} {
		key := aws.String(name)
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: bytes.NewReader(body)}); err != nil {
			t.Fatalf("put %q: %v", name, err)
		}
		out, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: key})
		if err != nil {
			t.Fatalf("get %q: %v", name, err)
		}
		got, err := io.ReadAll(out.Body)
		if err != nil || !bytes.Equal(got, body) {
			t.Errorf("%q came back as %d bytes, %v; want the %d that went", name, len(got), err, len(body))
		}
		if _, err := client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key}); err != nil {
			t.Errorf("delete %q: %v", name, err)
		}
		_, err = client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: bucket, Key: key})
		wantCode(t, err, "NotFound")
	}
}

// hostsNameBuckets: not every resolver knows names below localhost, so the test
// leads them there itself.
func hostsNameBuckets(t *testing.T, s *session) {
	address := strings.TrimPrefix(s.env["HOLDFAST_BODIES_ENDPOINT"], "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	client := s3.New(s.client().Options(), func(o *s3.Options) {
		o.UsePathStyle = false
		o.BaseEndpoint = aws.String("http://localhost:" + port)
		o.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		}}}
	})
	bucket, key := aws.String(s.env["HOLDFAST_BODIES_BUCKET"]), aws.String("by the host/ü")
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: bucket, Key: key, Body: strings.NewReader("body")}); err != nil {
		t.Fatal(err)
	}
	// The same object, by the other style.
	if _, err := s.client().DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: bucket, Key: key}); err != nil {
		t.Error(err)
	}
	_, err = client.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: bucket, Key: key})
	wantCode(t, err, "NotFound")
	_, err = client.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: bucket})
	wantCode(t, err, "NoSuchLifecycleConfiguration")
}

func createOnlyHasOneWinner(t *testing.T, s *session) {
	client := s.client()

	const racers = 32
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for range racers {
		wg.Go(func() {
			_, err := client.PutObject(t.Context(), &s3.PutObjectInput{
				Bucket:      aws.String(s.env["HOLDFAST_BODIES_BUCKET"]),
				Key:         aws.String("contested"),
				Body:        bytes.NewReader([]byte("body")),
				IfNoneMatch: aws.String("*"),
			})
			switch {
			case err == nil:
				won.Add(1)
			case errorCode(err) == "PreconditionFailed":
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != racers-1 {
		t.Errorf("%d won and %d lost, want 1 and %d", won.Load(), lost.Load(), racers-1)
	}
}

func wrongDigestOrSignatureIsRefused(t *testing.T, s *session) {
	bucket := aws.String(s.env["HOLDFAST_BODIES_BUCKET"])

	other := sha256.Sum256([]byte("other"))
	_, err := s.client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket:         bucket,
		Key:            aws.String("key"),
		Body:           bytes.NewReader([]byte("body")),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(other[:])),
	})
	wantCode(t, err, "BadDigest")
	_, err = s.client().GetObject(t.Context(), &s3.GetObjectInput{Bucket: bucket, Key: aws.String("key")})
	wantCode(t, err, "NoSuchKey")

	wrong := &session{env: maps.Clone(s.env)}
	wrong.env["AWS_SECRET_ACCESS_KEY"] = "wrong"
	_, err = wrong.client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: bucket})
	wantCode(t, err, "SignatureDoesNotMatch")
	_, err = wrong.client().GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: bucket})
	wantCode(t, err, "SignatureDoesNotMatch")
}

func lifecycleRulesAreKept(t *testing.T, s *session) {
	client, bucket := s.client(), aws.String(s.env["HOLDFAST_BODIES_BUCKET"])
	get := func() ([]types.LifecycleRule, error) {
		out, err := client.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: bucket})
		if err != nil {
			return nil, err
		}
		return out.Rules, nil
	}

	_, err := get()
	wantCode(t, err, "NoSuchLifecycleConfiguration")

	_, err = client.PutBucketLifecycleConfiguration(t.Context(), &s3.PutBucketLifecycleConfigurationInput{
		Bucket: bucket,
		LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			ID:                             aws.String("uploads"),
			Status:                         types.ExpirationStatusEnabled,
			Filter:                         &types.LifecycleRuleFilter{Prefix: aws.String("tmp/")},
			AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(7)},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	rules, err := get()
	if err != nil {
		t.Fatal(err)
	}
	isUploads := func(r types.LifecycleRule) bool {
		return *r.ID == "uploads" && *r.Filter.Prefix == "tmp/" && *r.AbortIncompleteMultipartUpload.DaysAfterInitiation == 7
	}
	if len(rules) != 1 || !slices.ContainsFunc(rules, isUploads) {
		t.Errorf("rules %+v, want the one that was put", rules)
	}

	_, err = client.PutBucketLifecycleConfiguration(t.Context(), &s3.PutBucketLifecycleConfigurationInput{
		Bucket: bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{}},
	})
	wantCode(t, err, "MalformedXML")
	_, err = client.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: aws.String("another-bucket")})
	wantCode(t, err, "NoSuchBucket")

	if _, err := client.DeleteBucketLifecycle(t.Context(), &s3.DeleteBucketLifecycleInput{Bucket: bucket}); err != nil {
		t.Fatal(err)
	}
	_, err = get()
	wantCode(t, err, "NoSuchLifecycleConfiguration")
}

func wantCode(t *testing.T, err error, want string) {
	t.Helper()
	if got := errorCode(err); got != want {
		t.Errorf("error code %q, want %q (%v)", got, want, err)
	}
}

func errorCode(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}
