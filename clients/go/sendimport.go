package holdfast

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
)

// SendImport sends lines in one request, as POST /v1/accounts/import takes them:
// an ImportLine a line, at most 10,000 of them, 64 KiB each and 16 MiB in all. The
// answer has an ImportResult a line, as they come; the caller closes its body.
// Import needs no such care, and is what most programs want.
//
// The client is one of Connect's, whose errors are an *Error, or one that
// NewClientWithResponses made.
func SendImport(ctx context.Context, client *ClientWithResponses, lines []byte) (*http.Response, error) {
	plain, ok := client.ClientInterface.(*Client)
	if !ok {
		return nil, errors.New("holdfast: an import needs a client that Connect made")
	}
	target, err := url.JoinPath(plain.Server, "/v1/accounts/import")
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(lines))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	if err := plain.applyEditors(ctx, request, nil); err != nil {
		return nil, err
	}
	return plain.Client.Do(request)
}
