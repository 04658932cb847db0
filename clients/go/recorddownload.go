package holdfast

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// DownloadBody writes a section's body to w as it comes, straight from the object
// store where it is there, and through the API where it is in the database. It gives
// the digest and the length, in bytes, when w has all of the body and its SHA-256 is
// right.
//
// After any error, what w has must not be used: *UnverifiedBodyError says that it is
// something else, or that the body was replaced meanwhile. What breaks off is gone on
// with where it ended, as long as each try brings anything, or as often as the
// client tries its other requests. The client must be one that Connect made, and its
// HTTP client reaches the object store.
func DownloadBody(ctx context.Context, client *ClientWithResponses, collection CollectionName, key ItemKey, section SectionName, w io.Writer) (Digest, int64, error) {
	once, err := singly(client, always)
	if err != nil {
		return "", 0, err
	}
	d, err := newDownload(client, w)
	if err != nil {
		return "", 0, err
	}
	d.key, d.section = key, section
	d.presign = func(ctx context.Context) (PresignedBody, error) { // each try's lives for minutes
		answer, err := once.PresignBodyWithResponse(ctx, collection, key, section)
		switch {
		case err != nil:
			return PresignedBody{}, err
		case answer.JSON200 == nil:
			return PresignedBody{}, errNoJSON
		}
		return *answer.JSON200, nil
	}
	d.direct = func(ctx context.Context, params *GetBodyParams) (*http.Response, error) {
		return once.ClientInterface.GetBody(ctx, collection, key, section, params)
	}
	if err := d.run(ctx); err != nil {
		return "", 0, err
	}
	return d.digest, d.done, nil
}

// SaveBody downloads a section's body into a file, which is replaced when the body is
// there and verified. On any error the file stays what it was. A new file is its
// user's alone (mode 0600).
func SaveBody(ctx context.Context, client *ClientWithResponses, collection CollectionName, key ItemKey, section SectionName, path string) (digest Digest, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			file.Close() // once more, perhaps
			os.Remove(file.Name())
		}
	}()
	digest, _, err = DownloadBody(ctx, client, collection, key, section, file)
	if err != nil {
		return "", err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return "", err
	}
	return digest, os.Rename(file.Name(), path)
}
