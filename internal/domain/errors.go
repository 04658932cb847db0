package domain

import (
	"errors"
	"maps"
	"time"
)

// Kind says how a failure must be treated. The set is closed: the edge
// translates each kind to one HTTP status, and whatever is not an *Error is
// internal.
type Kind uint8

const (
	KindInternal Kind = iota
	KindInvalid
	KindUnauthenticated
	KindForbidden
	KindNotFound
	KindConflict
	KindPreconditionFailed
	KindPreconditionRequired
	KindGone
	KindTooLarge
	KindLimited
	KindUnavailable
	KindOutcomeUnknown
)

// String is the kind's stable name in logs and metrics.
func (k Kind) String() string {
	switch k {
	case KindInvalid:
		return "invalid"
	case KindUnauthenticated:
		return "unauthenticated"
	case KindForbidden:
		return "forbidden"
	case KindNotFound:
		return "not_found"
	case KindConflict:
		return "conflict"
	case KindPreconditionFailed:
		return "precondition_failed"
	case KindPreconditionRequired:
		return "precondition_required"
	case KindGone:
		return "gone"
	case KindTooLarge:
		return "too_large"
	case KindLimited:
		return "limited"
	case KindUnavailable:
		return "unavailable"
	case KindOutcomeUnknown:
		return "outcome_unknown"
	default:
		return "internal"
	}
}

// Field points at one part of a request that is wrong.
type Field struct {
	Pointer string `json:"pointer"` // RFC 6901 JSON pointer into the body, "/email" say, or "?name" for a query parameter
	Code    string `json:"code"`    // stable machine code, "invalid_email" say
}

// Error is a failure that a caller may see. Detail is in plain words and never
// holds SQL, Go text, a submitted value, or another tenant's existence.
type Error struct {
	Kind       Kind
	Code       string        // stable machine code, snake case
	Detail     string        // what is wrong and what to do
	Fields     []Field       // the parts of the request at fault, if any
	RetryAfter time.Duration // when a retry may succeed; 0 when it makes no sense
	// Members are further facts for a program, by the name of their member in the
	// answer (RFC 9457, section 3.2): the epoch that fenced a writer, say.
	Members map[string]any

	cause error
}

func (e *Error) Error() string {
	text := e.Kind.String() + ": " + e.Code + ": " + e.Detail
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap gives the cause, which is for the log and never for the caller.
func (e *Error) Unwrap() error { return e.cause }

// Because returns a copy of e that remembers the error behind it.
func (e *Error) Because(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// After returns a copy of e that may be retried after d.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// With returns a copy of e that tells one more fact.
func (e *Error) With(name string, value any) *Error {
	c := *e
	c.Members = maps.Clone(e.Members)
	if c.Members == nil {
		c.Members = map[string]any{}
	}
	c.Members[name] = value
	return &c
}

// At returns a copy of e that points at one part of the request.
func (e *Error) At(pointer string) *Error {
	c := *e
	c.Fields = append(append([]Field(nil), e.Fields...), Field{Pointer: pointer, Code: e.Code})
	return &c
}

func newError(kind Kind, code, detail string) *Error {
	return &Error{Kind: kind, Code: code, Detail: detail}
}

// The constructors, one a kind. There is none for internal: any other error is.

func Invalid(code, detail string) *Error         { return newError(KindInvalid, code, detail) }
func Unauthenticated(code, detail string) *Error { return newError(KindUnauthenticated, code, detail) }
func Forbidden(code, detail string) *Error       { return newError(KindForbidden, code, detail) }
func NotFound(code, detail string) *Error        { return newError(KindNotFound, code, detail) }
func Conflict(code, detail string) *Error        { return newError(KindConflict, code, detail) }
func PreconditionFailed(code, detail string) *Error {
	return newError(KindPreconditionFailed, code, detail)
}
func PreconditionRequired(code, detail string) *Error {
	return newError(KindPreconditionRequired, code, detail)
}
func Gone(code, detail string) *Error        { return newError(KindGone, code, detail) }
func TooLarge(code, detail string) *Error    { return newError(KindTooLarge, code, detail) }
func Limited(code, detail string) *Error     { return newError(KindLimited, code, detail) }
func Unavailable(code, detail string) *Error { return newError(KindUnavailable, code, detail) }

// OutcomeUnknown is the answer when nobody can know whether a change was
// committed: the connection was lost on COMMIT. The caller re-reads, or
// retries with the same Idempotency-Key.
func OutcomeUnknown(code, detail string) *Error { return newError(KindOutcomeUnknown, code, detail) }

// KindOf is the kind of err; internal for anything that is not an *Error.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return KindInternal
}

// CodeOf is the machine code of err, or "" when it has none.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
