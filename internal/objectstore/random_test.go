package objectstore_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// passing are the faults that a store gets over by itself.
func passing() []testkit.Fault {
	return []testkit.Fault{
		testkit.LostRequest(), testkit.LostAnswer(), testkit.CutAt(0.6), testkit.CutAt(0), testkit.ShortAnswer(0.6),
		testkit.Refuse(409, "ConditionalRequestConflict", 0), testkit.Refuse(429, "TooManyRequests", 0),
		testkit.Refuse(503, "SlowDown", 0), testkit.RefuseAfter(500, "InternalError"), testkit.RefuseAfter(502, "BadGateway"),
		testkit.Slow(5 * time.Millisecond),
	}
}

// R17: with one request in twenty failing, everything ends well.
func TestRandomFaults_OneInTwenty_LeaveNothingUnresolved(t *testing.T) {
	t.Parallel()
	b := ways(t)[0].bed(t)
	b.AtRandom(17, 0.05, passing()...)
	var bodies []body
	for i := range 300 {
		x := b.random(i * 37)
		if _, err := b.ensure(t.Context(), x, i%3 == 0); err != nil {
			t.Errorf("body %d: %v", i, err)
		}
		bodies = append(bodies, x)
	}
	for _, x := range bodies {
		b.wantBody(t, x)
	}
	if sent, least := len(b.Requests()), 3*len(bodies); sent < least+least/50 {
		t.Errorf("%d requests for %d bodies: there were hardly any faults", sent, len(bodies))
	}
}

// When every other request fails and few are tried again, some work is left; it is
// known which, and a second go ends it.
func TestRandomFaults_OneInTwo_TellWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := ways(t)[0].bed(t, func(s *objectstore.Settings) { s.MaxAttempts = 2 })
	b.AtRandom(2, 0.5, passing()...)
	var proven, left []body
	for i := range 200 {
		x := b.random(1 + i*11)
		switch _, err := b.ensure(t.Context(), x, false); {
		case err == nil:
			proven = append(proven, x)
		case domain.CodeOf(err) == isUnavailable:
			left = append(left, x)
		default:
			t.Errorf("body %d: %v", i, err)
		}
		got, err := b.fetch(t.Context(), x)
		if err == nil && !bytes.Equal(got, x.bytes) {
			t.Errorf("body %d came back as another", i)
		}
	}
	b.AtRandom(0, 0)
	if len(left) == 0 || len(proven) == 0 {
		t.Errorf("%d are proven and %d left, want some of both", len(proven), len(left))
	}
	for _, x := range proven {
		b.wantBody(t, x)
	}
	for _, x := range left {
		if _, err := b.ensure(t.Context(), x, false); err != nil {
			t.Error(err)
		}
		b.wantBody(t, x)
	}
}
