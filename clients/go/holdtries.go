package holdfast

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// longestTry is how long a try under a lease may go without an answer, before the
// same is sent again.
const longestTry = 20 * time.Second

// ask calls until there is an answer, and the lease is what limits that, or ctx.
// What it calls must be one try at something that is done once, however often it is
// asked for.
func (l *HeldLease) ask(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := l.within(ctx)
	defer cancel()
	for failures := 1; ; failures++ {
		err := try(ctx, longestTry, call)
		if err == nil {
			return nil
		}
		if lost := l.lostBy(err); lost != nil {
			return l.end(lost)
		}
		if over := l.Err(); over != nil {
			return over
		}
		pause, again := repeatAfter(err, failures)
		if !again {
			return err
		}
		if wait(ctx, pause) == nil {
			continue
		}
		if over := l.Err(); over != nil {
			return over
		}
		return err
	}
}

// try calls once, for as long as said.
func try(ctx context.Context, limit time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}

// within gives a context that ends with ctx and with the lease.
func (l *HeldLease) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// repeatAfter tells whether a request that may be repeated is worth it after err,
// and when: where nobody can know what came of it, or the service says when.
func repeatAfter(err error, failures int) (pause time.Duration, again bool) {
	var answered *Error
	switch {
	case !errors.As(err, &answered):
		return backoff(failures), true
	case answered.RetryAfter > 0:
		return answered.RetryAfter, true
	default:
		unknown := answered.Code == "outcome_unknown" || answered.Code == "" && answered.Status >= http.StatusInternalServerError
		return backoff(failures), unknown
	}
}

// singly is a client that tries once, and not at all where may says no. It is asked
// right before the request goes out, when a token has been bought.
func singly(client *ClientWithResponses, may func() error) (*ClientWithResponses, error) {
	plain, connected, err := connection(client)
	if err != nil {
		return nil, err
	}
	once, copied := *connected, *plain
	once.attempts, once.doer = 1, permitted{connected.doer, may}
	copied.Client = &once
	return &ClientWithResponses{&copied}, nil
}

// connection gives what Connect made a client of.
func connection(client *ClientWithResponses) (*Client, *transport, error) {
	plain, ok := client.ClientInterface.(*Client)
	if !ok {
		return nil, nil, errNotConnected
	}
	connected, ok := plain.Client.(*transport)
	if !ok {
		return nil, nil, errNotConnected
	}
	return plain, connected, nil
}

var errNotConnected = errors.New("holdfast: it needs a client that Connect made")

// permitted sends what may be sent.
type permitted struct {
	doer HttpRequestDoer
	may  func() error
}

func (p permitted) Do(request *http.Request) (*http.Response, error) {
	if err := p.may(); err != nil {
		return nil, err
	}
	return p.doer.Do(request)
}
