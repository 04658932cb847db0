package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
)

// ImportAccounts serves POST /v1/accounts/import. It keeps the results until the
// last line is done: the body that is being read bounds how many they are, so a
// caller may send all before it reads anything, and whatever ends the import
// early can still be a problem with a status.
func (s *server) ImportAccounts(ctx context.Context, _ ImportAccountsRequestObject) (ImportAccountsResponseObject, error) {
	in := importing{lines: callOf(ctx).lines}
	in.lines.atMost(s.limiter.ImportRows(ctx, caller(ctx).Tenant))
	in.out = json.NewEncoder(&in.results)
	err := s.directory.Import(ctx, caller(ctx), in.next, func(r identity.ImportResult) error {
		if r.Error != nil && r.Error.Kind == domain.KindInternal {
			s.log.ErrorContext(ctx, "a line was not imported", "line", r.Line, "error", r.Error)
		}
		return in.result(r)
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, partly(&problem{
			status: http.StatusServiceUnavailable, code: "timeout", detail: "The import took too long and was given up.", retryAfter: time.Second,
		}).because(err)
	case err != nil:
		return nil, err
	}
	return ImportAccounts200ApplicationXNdjsonResponse{Body: &in.results, ContentLength: int64(in.results.Len())}, nil
}

// importing is an import on its way.
type importing struct {
	lines   *lines
	places  []string // of the records in the lines that have no result yet: "/account"
	results bytes.Buffer
	out     *json.Encoder
}

func (in *importing) next() (identity.ImportLine, error) {
	var body ImportLine
	read, err := in.lines.next(&body)
	if err != nil {
		return identity.ImportLine{}, err
	}
	decoded, place := identity.ImportLine{Key: keyOf(read.value), Refused: read.wrong}, ""
	if read.wrong == nil {
		decoded, place = decodeImportLine(body)
	}
	in.places = append(in.places, place)
	return decoded, nil
}

// result encodes the result of the earliest line that has none.
func (in *importing) result(r identity.ImportResult) error {
	place := in.places[0]
	in.places = in.places[1:]
	encoded := ImportResult{Line: r.Line, Key: textOrNil(r.Key), Result: string(r.Result), Family: textOrNil(string(r.Family))}
	if r.Error == nil {
		encoded.ID = textOrNil(r.ID.String())
	} else {
		failed := encodeImportError(r.Error, place)
		encoded.Error = &failed
	}
	return in.out.Encode(encoded)
}

// keyOf is the key of a line that is wrong otherwise, if it can be one.
func keyOf(value any) string {
	members, _ := value.(map[string]any)
	key, _ := members["key"].(string)
	const longest = 255 * 4 // bytes: what is longer is no key, and isn't repeated
	if len(key) > longest {
		return ""
	}
	return key
}

// encodeImportError says what a problem would say. The domain points into the
// record, whose place in the line it doesn't know, or at the line's key.
func encodeImportError(e *domain.Error, place string) ImportError {
	encoded := ImportError{Code: e.Code, Detail: e.Detail}
	if after := retryLine(e); after > 0 {
		seconds := wholeSeconds(after)
		encoded.RetryAfter = &seconds
	}
	if n := min(len(e.Fields), maxLineFields); n > 0 {
		fields := encodeAll(e.Fields[:n], func(f domain.Field) FieldError {
			if f.Pointer == "/key" {
				return FieldError{Pointer: f.Pointer, Code: f.Code}
			}
			return FieldError{Pointer: place + f.Pointer, Code: f.Code}
		})
		encoded.Errors = &fields
	}
	return encoded
}

// maxLineFields bounds the result of a line that is wrong everywhere, of which
// there may be ten thousand.
const maxLineFields = 10

// retryLine is when a line may succeed, or 0 for never as it is. Whatever may
// have happened, a line may always be sent again.
func retryLine(e *domain.Error) time.Duration {
	switch e.Kind {
	case domain.KindUnavailable, domain.KindLimited, domain.KindOutcomeUnknown:
		return max(e.RetryAfter, time.Second)
	default:
		return e.RetryAfter
	}
}
