package httpapi

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// call is what the middleware learns of one request. It rides on the request's
// context and belongs to the request's goroutine.
type call struct {
	requestID     string
	operation     *operation // nil where no route matched
	authorization []string   // the header, for the token endpoint, which the document calls public
	accept        []string   // the header, for what answers in more than one media type
	encodings     []string   // Accept-Encoding, for what is kept packed
	keyed         bool       // there is an Idempotency-Key
	connection    connection
	scope         tenancy.Scope  // zero for a public operation
	client        tenancy.Client // zero but for what a public client calls
	body          []byte         // the JSON text that was validated, nil without
	lines         *lines         // the body, where it is a stream
	act           *act           // nil for what isn't an administrative act
	announced     int64          // bytes of a large body; -1 if they aren't known
	held          []func()       // gives back what is held until the answer was written
	code          string         // of the problem that was answered, for the log
	cutOff        bool           // the answer was begun and can't be ended
}

// atEnd has something given back when the answer was written, or can't be.
func (c *call) atEnd(release func()) { c.held = append(c.held, release) }

// end gives back all that is held.
func (c *call) end() {
	c.body = nil
	for _, release := range c.held {
		release()
	}
	c.held = nil
}

type callKey struct{}

func withCall(ctx context.Context, c *call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(ctx context.Context) *call {
	return ctx.Value(callKey{}).(*call)
}

// caller is who sent the request that ctx belongs to.
func caller(ctx context.Context) tenancy.Scope { return callOf(ctx).scope }
