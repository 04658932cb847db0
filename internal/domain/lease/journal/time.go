package journal

import (
	"errors"
	"time"
)

// timeLayout is RFC 3339 in UTC with exactly six digits behind the point.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is a time in an entry's details: UTC, to the microsecond, in years 0 to
// 9999. The zero Time is none.
type Time time.Time

func (t Time) IsZero() bool                     { return time.Time(t).IsZero() }
func (t Time) Equal(o Time) bool                { return time.Time(t).Equal(time.Time(o)) }
func (t Time) before(o Time) bool               { return time.Time(t).Before(time.Time(o)) }
func (t Time) String() string                   { return time.Time(t).UTC().Format(timeLayout) }
func appendTime(dst []byte, t time.Time) []byte { return t.UTC().AppendFormat(dst, timeLayout) }

// MarshalText gives RFC 3339 with six digits, and cuts off what is finer.
func (t Time) MarshalText() ([]byte, error) { return appendTime(nil, time.Time(t)), nil }

var errNotTime = errors.New("not an RFC 3339 time in UTC with six digits behind the point")

// UnmarshalText is the inverse of MarshalText; no other spelling parses.
func (t *Time) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(timeLayout, string(text))
	if err != nil || Time(parsed).String() != string(text) { // Parse takes a comma for the point
		return errNotTime
	}
	*t = Time(parsed)
	return nil
}
