package httpapi

import (
	"github.com/labstack/echo/v4"
)

// largeBody is from when on a body is counted among those that the process holds.
// What is smaller costs no more than everything else that a request costs.
const largeBody = 4 << 20

// heldOfJSON is how often a JSON body's length is in memory at once: as its text, as
// the value that its schema judges, and bound, with its bodies decoded.
const heldOfJSON = 3

// makeRoom waits for room for a body before any of it is read, and lets the
// caller, who was made to wait, then take his time. The room is held until the answer
// was written; it is of the tenant's share, so that no other tenant waits for that.
func (s *server) makeRoom(c echo.Context, body *bodyRule, media string) error {
	r := c.Request()
	bytes := r.ContentLength
	if bytes < 0 {
		bytes = body.maxBytes
	}
	if media != mediaMultipart {
		bytes *= heldOfJSON
	}
	call := callOf(r.Context())
	release, err := s.memory.Take(r.Context(), call.scope.Tenant, bytes)
	if err != nil {
		return err
	}
	call.atEnd(release)
	call.announced = r.ContentLength
	r.Body = newPausing(c, s.pause)
	return nil
}
