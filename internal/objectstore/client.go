package objectstore

import (
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// newClient makes the SDK's client send what R2 accepts, once: the tries are
// counted and paced here, since the SDK repeats a PUT whose answer was lost and
// then reports the 412 that it caused itself.
func newClient(s Settings, client *http.Client) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(s.Endpoint),
		Region:       s.Region,
		UsePathStyle: s.PathStyle,
		Credentials:  credentials.NewStaticCredentialsProvider(s.AccessKey, s.SecretKey, ""),
		HTTPClient:   client,
		Retryer:      aws.NopRetryer{},

		// Otherwise each PUT carries a CRC32 besides, in a trailer, and each GET
		// asks for checksums, to compute what is compared here anyway.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
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
