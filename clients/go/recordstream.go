package holdfast

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// download is something verifiable on its way to a writer.
type download struct {
	doer     HttpRequestDoer // sends no token: a presigned URL is authority enough
	attempts int
	key      ItemKey     // of a body,
	section  SectionName // likewise

	// presign gives a URL for a try.
	presign func(context.Context) (PresignedBody, error)

	// direct reads through the API what presign says is body_in_sql.
	direct func(context.Context, *GetBodyParams) (*http.Response, error)

	w      io.Writer
	hash   hash.Hash // of what w has
	done   int64     // bytes that w has
	digest Digest    // that it must have; "" before the first answer
	length int64     // likewise; -1 where nobody says
}

func newDownload(client *ClientWithResponses, w io.Writer) (*download, error) {
	_, connected, err := connection(client)
	if err != nil {
		return nil, err
	}
	return &download{doer: connected.doer, attempts: connected.attempts, w: w, hash: sha256.New()}, nil
}

// run tries until w has all of it, as long as each try brings anything, or as often
// as the client tries its other requests.
func (d *download) run(ctx context.Context) error {
	p := patience{attempts: d.attempts}
	for {
		before := d.done
		err := d.goOn(ctx)
		if err == nil {
			return nil
		}
		if d.done > before {
			p.failures = 0
		}
		if p.waits(ctx, err) {
			continue
		}
		var final *finalError
		if errors.As(err, &final) {
			err = final.error
		}
		return err
	}
}

// goOn is one try at what is missing.
func (d *download) goOn(ctx context.Context) error {
	err := d.fetch(ctx)
	var final *finalError
	switch all := d.digest != "" && d.done == d.length; {
	case errors.As(err, &final), err != nil && !all:
		return err
	case d.length >= 0 && !all:
		return fmt.Errorf("holdfast: %d of %d bytes came: %w", d.done, d.length, io.ErrUnexpectedEOF)
	case hex.EncodeToString(d.hash.Sum(nil)) != d.digest:
		return d.unverified(errOtherBytes)
	}
	return nil
}

func (d *download) fetch(ctx context.Context) error {
	body, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(d, body)
	return err
}

// Write takes the next bytes.
func (d *download) Write(p []byte) (int, error) {
	if d.length >= 0 && d.done+int64(len(p)) > d.length {
		return 0, d.unverified(fmt.Errorf("it has more than %d bytes", d.length))
	}
	n, err := d.w.Write(p)
	d.hash.Write(p[:n])
	d.done += int64(n)
	if err != nil {
		err = &finalError{err}
	}
	return n, err
}

func (d *download) unverified(reason error) error {
	return &finalError{&UnverifiedBodyError{d.key, d.section, d.digest, reason}}
}

// open gives what is behind what is done.
func (d *download) open(ctx context.Context) (io.ReadCloser, error) {
	presigned, err := d.presign(ctx)
	if IsCode(err, "body_in_sql") && d.direct != nil {
		return d.openDirectly(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := d.expect(presigned.Digest, presigned.Length); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, presigned.URL, nil)
	if err != nil {
		return nil, withoutURL(err)
	}
	if d.done > 0 {
		request.Header.Set("Range", d.rest())
	}
	response, err := d.doer.Do(request)
	if err != nil {
		return nil, withoutURL(err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		response.Body.Close()
		return nil, fmt.Errorf("holdfast: the object store answers with status %d", response.StatusCode)
	}
	return d.behind(response)
}

func (d *download) openDirectly(ctx context.Context) (io.ReadCloser, error) {
	var params GetBodyParams
	if d.done > 0 {
		rest, tag := d.rest(), bodyTag(d.digest)
		params.Range, params.IfRange = &rest, &tag
	}
	response, err := d.direct(ctx, &params)
	if err != nil {
		return nil, err
	}
	length := response.ContentLength
	if response.StatusCode == http.StatusPartialContent && length >= 0 {
		length += d.done
	}
	if err := d.expect(taggedDigest(response.Header), length); err != nil {
		response.Body.Close()
		return nil, err
	}
	return d.behind(response)
}

// expect holds each answer to the first.
func (d *download) expect(digest Digest, length int64) error {
	switch {
	case digest == "":
		return d.unverified(errors.New("the answer has no digest"))
	case d.digest == "":
		d.digest, d.length = digest, length
	case d.digest != digest:
		return d.unverified(errors.New("it was replaced meanwhile"))
	}
	return nil
}

// rest is the range of bytes that are missing.
func (d *download) rest() string { return fmt.Sprintf("bytes=%d-", d.done) }

// behind gives the part of an answer that is missing: all of it, where it is the
// range that was asked for.
func (d *download) behind(response *http.Response) (io.ReadCloser, error) {
	begins := int64(0)
	if response.StatusCode == http.StatusPartialContent {
		if !strings.HasPrefix(response.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", d.done)) {
			response.Body.Close()
			return nil, errors.New("holdfast: another range came than was asked for")
		}
		begins = d.done
	}
	if _, err := io.CopyN(io.Discard, response.Body, d.done-begins); err != nil {
		response.Body.Close()
		return nil, err
	}
	return response.Body, nil
}

// withoutURL is an error that doesn't show a presigned URL, which is a secret.
func withoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("holdfast: the object store: %w", err)
}
