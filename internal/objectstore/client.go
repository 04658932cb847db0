package objectstore

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
)

// newClient makes the SDK's client send what R2 accepts, once: the tries are
// counted and paced here, since the SDK repeats a PUT whose answer was lost and
// then reports the 412 that it caused itself.
func newClient(s Settings, carrier http.RoundTripper) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(s.Endpoint),
		Region:       s.Region,
		UsePathStyle: s.PathStyle,
		Credentials:  credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
		HTTPClient:   &http.Client{Transport: carrier, CheckRedirect: noRedirect},
		Retryer:      aws.NopRetryer{},

		// Otherwise each PUT carries a CRC32 besides, in a trailer, and each GET
		// asks for checksums, to compute what is compared here anyway.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,

		ContinueHeaderThresholdBytes: -1, // bodies are small; waiting for "100 Continue" costs a round trip
		APIOptions:                   []func(*middleware.Stack) error{addKnownHash},
	})
}

// noRedirect shows a redirect for what it is. A signature is good for one host.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// newTransport keeps as many connections as there may be requests.
func newTransport(concurrency int) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext, // and so HTTP/1.1: a connection a request
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConns:        concurrency,
		MaxIdleConnsPerHost: concurrency,
		IdleConnTimeout:     90 * time.Second,
		WriteBufferSize:     bufferSize,
		ReadBufferSize:      bufferSize,
		DisableCompression:  true, // what is stored is what comes back
	}
}

// bufferSize holds a small body with its headers, in bytes.
const bufferSize = 16 << 10

// addKnownHash saves a second SHA-256 of each body.
func addKnownHash(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("KnownPayloadHash", knownHash), middleware.After)
}

// knownHash signs an upload with the digest that it names. Without that the SDK
// computes one over http, and leaves the payload unsigned over https.
func knownHash(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	if put, ok := in.Parameters.(*s3.PutObjectInput); ok {
		digest, err := base64.StdEncoding.DecodeString(aws.ToString(put.ChecksumSHA256))
		if err != nil {
			return middleware.InitializeOutput{}, middleware.Metadata{}, err
		}
		ctx = v4.SetPayloadHash(ctx, hex.EncodeToString(digest))
	}
	return next.HandleInitialize(ctx, in)
}
