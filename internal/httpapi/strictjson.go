package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// maxDepth is how deeply a body may nest arrays and objects.
const maxDepth = 32

var errNotText = errors.New("not UTF-8 text without NUL")

// parseJSON reads exactly one JSON value in the sense of I-JSON (RFC 7493):
// valid UTF-8, no lone surrogates, no key twice in an object; and of ours: no
// NUL, at most maxDepth deep, nothing behind it. It gives nil, bool, string,
// json.Number (the digits as they were sent), []any and map[string]any.
func parseJSON(text []byte) (any, error) {
	p := parser{jsontext.NewDecoder(bytes.NewBuffer(text))}
	value, err := p.value()
	if err != nil {
		return nil, err
	}
	if _, err := p.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, malformed("json_trailing", "Something stands behind the JSON value.")
	}
	return value, nil
}

type parser struct{ *jsontext.Decoder }

func (p parser) value() (any, error) {
	token, err := p.ReadToken()
	if err != nil {
		return nil, syntaxProblem(err)
	}
	if p.StackDepth() > maxDepth {
		return nil, malformed("json_too_deep", "The JSON value nests deeper than 32.")
	}
	switch token.Kind() {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.text(token)
	case '0':
		return json.Number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func (p parser) object() (any, error) {
	members := make(map[string]any)
	for p.PeekKind() != '}' {
		token, err := p.ReadToken()
		if err != nil {
			return nil, syntaxProblem(err)
		}
		name, err := p.text(token)
		if err != nil {
			return nil, err
		}
		if members[name], err = p.value(); err != nil {
			return nil, err
		}
	}
	_, err := p.ReadToken()
	return members, syntaxProblem(err)
}

func (p parser) array() (any, error) {
	items := []any{}
	for p.PeekKind() != ']' {
		item, err := p.value()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	_, err := p.ReadToken()
	return items, syntaxProblem(err)
}

// text refuses NUL, which is good JSON and which no text column can hold.
func (p parser) text(token jsontext.Token) (string, error) {
	text := token.String()
	if strings.IndexByte(text, 0) < 0 {
		return text, nil
	}
	return "", domain.Invalid("nul_not_allowed", "Text must not hold NUL.").At(pointerOf(p.StackPointer()))
}

// syntaxProblem is nil for nil. The decoder's own words may quote the body.
func syntaxProblem(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return malformed("json_duplicate_key", "An object has the same key twice.").at(pointerOf(syntax.JSONPointer))
	default:
		return malformed("json_malformed", "That is not one well-formed JSON value in valid UTF-8.")
	}
}

func pointerOf(p jsontext.Pointer) string { return echoed(string(p)) }
