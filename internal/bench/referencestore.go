package bench

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
)

// referenceStore is the object store that the API keeps bodies in, asked without
// the API: by the SDK alone, as anybody would, and by Holdfast's own adapter.
type referenceStore struct {
	name   string // of the bucket
	prefix string // of all its objects' keys
	sdk    *s3.Client
	bucket *objectstore.Bucket
}

// storeSettings are those of the object store that the environment names.
func storeSettings(environ []string) (objectstore.Settings, error) {
	c, err := config.Load(config.Check, environ)
	if err != nil {
		return objectstore.Settings{}, fmt.Errorf("the configuration is wrong (make bench sets it):\n%w", err)
	}
	settings, has := c.ObjectStore()
	if !has {
		return objectstore.Settings{}, errors.New("HOLDFAST_BODIES_ENDPOINT is not set: there is no object store to measure (make bench sets it)")
	}
	return settings, nil
}

func openReferenceStore(ctx context.Context, settings objectstore.Settings, callers int) (*referenceStore, error) {
	bucket, err := objectstore.Open(ctx, settings, objectstore.Options{})
	if err != nil {
		return nil, err
	}
	return &referenceStore{
		name: settings.Bucket,
		// As deep as bodies' keys are: a store that keeps files makes folders of it.
		prefix: "bench/" + randomText(20) + "/collections/reference/bodies/v1/sha256/",
		sdk: s3.New(s3.Options{
			BaseEndpoint:               &settings.Endpoint,
			Region:                     settings.Region,
			UsePathStyle:               settings.PathStyle,
			Credentials:                credentials.NewStaticCredentialsProvider(settings.AccessKey, settings.SecretKey, ""),
			HTTPClient:                 &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers}},
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
			ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
		}),
		bucket: bucket,
	}, nil
}

// below is the same store, with its objects below a folder of its prefix.
func (r *referenceStore) below(folder string) *referenceStore {
	deeper := *r
	deeper.prefix += folder
	return &deeper
}

// empty deletes what is below a prefix.
func (r *referenceStore) empty(ctx context.Context, prefix string) error {
	for more := true; more; {
		var objects []objectstore.Object
		var err error
		if objects, more, err = r.bucket.List(ctx, prefix, "", objectstore.MaxListed); err != nil {
			return err
		}
		keys := make([]string, len(objects))
		for i, object := range objects {
			keys[i] = object.Key
		}
		if err := r.bucket.Delete(ctx, keys...); err != nil {
			return err
		}
	}
	return nil
}

// emptied deletes behind each round what is below the prefix: large bodies would
// fill the disk.
func (r *referenceStore) emptied(prefix string, write round) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		result, err := write(ctx, length)
		if err == nil {
			err = r.empty(ctx, prefix)
		}
		return result, err
	}
}

func (r *referenceStore) key(digest [32]byte) string { return r.prefix + hex.EncodeToString(digest[:]) }

// write uploads new bodies, and reads each back and verifies it.
func (r *referenceStore) write(callers, size int) round {
	return r.writing(callers, size, func(ctx context.Context, body []byte, digest [32]byte) error {
		key := r.key(digest)
		_, err := r.sdk.PutObject(ctx, &s3.PutObjectInput{
			Bucket: &r.name, Key: &key, Body: bytes.NewReader(body), IfNoneMatch: aws.String("*"),
			ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(digest[:])),
		})
		if err != nil {
			return err
		}
		got, err := r.get(ctx, key)
		if err == nil && sha256.Sum256(got) != digest {
			err = fmt.Errorf("%s came back as other bytes", key)
		}
		return err
	})
}

// ensure does the same by Holdfast's own adapter.
func (r *referenceStore) ensure(callers, size int) round {
	return r.writing(callers, size, func(ctx context.Context, body []byte, digest [32]byte) error {
		_, err := r.bucket.Ensure(ctx, r.key(digest), body, digest, false)
		return err
	})
}

func (r *referenceStore) writing(callers, size int, write func(ctx context.Context, body []byte, digest [32]byte) error) round {
	makers := newBodyMakers(callers, size)
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, callers, length, func(ctx context.Context, caller int) error {
			m := makers[caller]
			m.next()
			return write(ctx, m.bytes, m.digest())
		})
	}
}

func (r *referenceStore) get(ctx context.Context, key string) ([]byte, error) {
	answer, err := r.sdk.GetObject(ctx, &s3.GetObjectInput{Bucket: &r.name, Key: &key})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// fill makes objects to read, and gives their digests.
func (r *referenceStore) fill(ctx context.Context, objects, size int) ([][32]byte, error) {
	maker := newBodyMaker(size)
	digests := make([][32]byte, objects)
	for i := range digests {
		maker.next()
		digests[i] = maker.digest()
		if _, err := r.bucket.Ensure(ctx, r.key(digests[i]), maker.bytes, digests[i], false); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

// read reads random ones of the objects, as they come.
func (r *referenceStore) read(digests [][32]byte, callers, size int) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, callers, length, func(ctx context.Context, _ int) error {
			got, err := r.get(ctx, r.key(digests[rand.IntN(len(digests))]))
			if err == nil && len(got) != size {
				err = fmt.Errorf("an object of %d bytes has %d", size, len(got))
			}
			return err
		})
	}
}

// fetch does the same by Holdfast's own adapter, which verifies each.
func (r *referenceStore) fetch(digests [][32]byte, callers, size int) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		return closedLoop(ctx, callers, length, func(ctx context.Context, _ int) error {
			digest := digests[rand.IntN(len(digests))]
			_, err := r.bucket.Fetch(ctx, r.key(digest), digest, int64(size))
			return err
		})
	}
}
