package holdfast

import (
	"context"
	"crypto/rand"
	"time"
)

// longestWait is how long one request stands in line: less than the minute after
// which Connect's client gives a request up.
const longestWait = 45 * time.Second

// acquisition asks for a lease. All its requests have one id, so they come to one
// lease at most.
type acquisition struct {
	once     *ClientWithResponses
	attempts int // that may fail in a row
	world    WorldID
	request  LeaseRequest
	until    time.Time // when it has waited in line for long enough
}

func newAcquisition(client *ClientWithResponses, world WorldID, options HoldOptions) (*acquisition, error) {
	_, connected, err := connection(client)
	if err != nil {
		return nil, err
	}
	once, err := singly(client, func() error { return nil })
	if err != nil {
		return nil, err
	}
	return &acquisition{
		once:     once,
		attempts: connected.attempts,
		world:    world,
		request: LeaseRequest{
			RequestID:             rand.Text(),
			TermSeconds:           seconds(options.Term),
			ActivateWithinSeconds: seconds(options.ActivateWithin),
			Takeover:              &options.Takeover,
		},
		until: time.Now().Add(options.Wait),
	}, nil
}

// seconds rounds up; 0 is the service's default.
func seconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	n := int64((d + time.Second - 1) / time.Second)
	return &n
}

// acquire gives the lease, and when it was asked for.
func (a *acquisition) acquire(ctx context.Context) (LeaseGrant, time.Time, error) {
	waits, failures := true, 0
	for {
		a.request.WaitSeconds = nil
		if waits {
			a.request.WaitSeconds = seconds(min(max(time.Until(a.until), 0), longestWait))
		}
		sent := time.Now()
		answer, err := a.once.AcquireLeaseWithResponse(ctx, a.world, a.request)
		switch {
		case err == nil && waits && tookTooLong(answer.JSON200, sent):
			// It stood in line, and how long ago it got the lease nobody can say. The
			// same request id gets the same lease, and an answer at once.
			waits = false
			continue
		case err == nil:
			return *answer.JSON200, sent, nil
		}
		pause, again := repeatAfter(err, failures+1)
		if IsCode(err, "lease_held") || IsCode(err, "lease_awaited") {
			pause, again = firstPause, time.Now().Before(a.until)
			waits, failures = true, 0
		} else if failures++; failures == a.attempts {
			again = false
		}
		if !again || wait(ctx, pause) != nil {
			return LeaseGrant{}, time.Time{}, err
		}
	}
}

// tookTooLong tells that much of the term is gone, reckoned from the sending.
func tookTooLong(grant *LeaseGrant, sent time.Time) bool {
	return time.Since(sent) > time.Duration(grant.TermSeconds)*time.Second/6
}
