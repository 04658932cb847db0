package objectstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
)

// wire sends what nearly all requests are, an object's GET and PUT. The SDK signs
// them, and that is all it does: its middleware makes three quarters of the
// allocations of a read, and takes half of its time in this process. What else a
// bucket is asked goes through the SDK's client.
type wire struct {
	base        url.URL // of the bucket, with a path that ends in a slash
	client      *http.Client
	signer      *v4.Signer
	credentials aws.Credentials
	region      string
}

func newWire(s Settings, client *http.Client) (*wire, error) {
	base, err := url.Parse(s.Endpoint)
	if err != nil {
		return nil, err
	}
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	if s.PathStyle {
		base.Path += s.Bucket + "/"
	} else {
		base.Host = s.Bucket + "." + base.Host
	}
	return &wire{
		base:   *base,
		client: client,
		signer: v4.NewSigner(func(o *v4.SignerOptions) {
			o.DisableURIPathEscaping = true // S3 signs the path as it is sent, escaped once
		}),
		credentials: aws.Credentials{AccessKeyID: s.AccessKey, SecretAccessKey: s.SecretKey},
		region:      s.Region,
	}, nil
}

// hashOfNothing is the SHA-256 of no bytes: what a GET signs for its body.
const hashOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// get asks for an object. The caller closes the answer's body. A status other than
// 200 is a *refusal.
func (w *wire) get(ctx context.Context, key string) (*http.Response, error) {
	return w.send(w.request(ctx, http.MethodGet, key), hashOfNothing)
}

// create uploads an object unless there is one. Its SHA-256 is the integrity
// check, and is signed: the store refuses what was changed on its way.
func (w *wire) create(ctx context.Context, key string, body []byte, digest [32]byte) error {
	r := w.request(ctx, http.MethodPut, key)
	r.ContentLength = int64(len(body))
	// Go's client asks again for a body of which nothing was sent: the connection
	// was closed while it was idle.
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	if len(body) == 0 {
		r.Body = http.NoBody // otherwise it goes in chunks, for want of a length
	}
	r.Header["Content-Type"] = []string{contentType}
	r.Header["If-None-Match"] = []string{"*"}
	r.Header["X-Amz-Checksum-Sha256"] = []string{base64.StdEncoding.EncodeToString(digest[:])}
	answer, err := w.send(r, hex.EncodeToString(digest[:]))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxRefusal))
	return err
}

func (w *wire) request(ctx context.Context, method, key string) *http.Request {
	u := w.base
	u.Path = w.base.Path + key
	u.RawPath = httpbinding.EscapePath(u.Path, false)
	r := &http.Request{Method: method, URL: &u, Host: u.Host, Header: make(http.Header, 8)}
	return r.WithContext(ctx)
}

// send signs the request with its body's hash, in hexadecimal, and sends it.
func (w *wire) send(r *http.Request, bodyHash string) (*http.Response, error) {
	r.Header["X-Amz-Content-Sha256"] = []string{bodyHash}
	if err := w.signer.SignHTTP(r.Context(), w.credentials, r, bodyHash, "s3", w.region, time.Now()); err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, newRefusal(answer)
	}
	return answer, nil
}

// refusal is an answer of the store's that is no success.
type refusal struct {
	status int
	after  string // Retry-After
	code   string // S3's own name for it; "" if the answer is none of S3's
}

// maxRefusal bounds what is read of one, in bytes.
const maxRefusal = 64 << 10

func newRefusal(answer *http.Response) *refusal {
	var document struct{ Code string }
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRefusal))
	if err == nil {
		err = xml.Unmarshal(text, &document)
	}
	if err != nil {
		document.Code = ""
	}
	return &refusal{status: answer.StatusCode, after: answer.Header.Get("Retry-After"), code: document.Code}
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d %s", r.status, r.code) }
