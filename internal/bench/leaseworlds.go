package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// holdSeconds is the term of the measured leases, the longest that there is. A
// comparison must be over by then.
const holdSeconds = 3600

// held is a world whose lease the bench holds, as a node does.
type held struct {
	World  string `json:"world_id"`
	Epoch  int64  `json:"epoch"`
	Secret string `json:"secret"`
}

// leaseHeader is the header line that shows the lease.
func (h held) leaseHeader() string {
	return "Holdfast-Lease: " + h.authority()
}

func (h held) authority() string { return strconv.FormatInt(h.Epoch, 10) + "." + h.Secret }

func (h held) journal() string { return "/v1/worlds/" + h.World + "/journal" }

// holdWorlds makes so many worlds and takes their leases.
func (s *stack) holdWorlds(ctx context.Context, n int) ([]held, error) {
	worlds := make([]held, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(appenders)
	for i := range n {
		group.Go(func() (err error) {
			worlds[i], err = s.hold(ctx, "world-"+strconv.Itoa(i))
			return err
		})
	}
	return worlds, group.Wait()
}

// hold makes a world, takes its lease, reads the journal as a node does, and
// activates the lease.
func (s *stack) hold(ctx context.Context, world string) (held, error) {
	h := held{World: world}
	if err := s.tenant.call(ctx, http.MethodPost, "/v1/worlds", map[string]any{"world_id": world}, http.StatusCreated, nil); err != nil {
		return h, err
	}
	acquire := map[string]any{"request_id": "bench", "term_seconds": holdSeconds}
	if err := s.tenant.call(ctx, http.MethodPost, "/v1/worlds/"+world+"/lease/acquire", acquire, http.StatusOK, &h); err != nil {
		return h, err
	}
	var page struct {
		Entries []struct {
			Position int64  `json:"position"`
			Hash     string `json:"hash"`
		} `json:"entries"`
	}
	if err := s.tenant.call(ctx, http.MethodGet, h.journal(), nil, http.StatusOK, &page); err != nil {
		return h, err
	}
	if len(page.Entries) == 0 {
		return h, fmt.Errorf("the journal of %s is empty", world)
	}
	last := page.Entries[len(page.Entries)-1]
	activation := map[string]any{"replayed_position": last.Position, "chain_hash": last.Hash}
	request, err := s.tenant.request(ctx, http.MethodPost, "/v1/worlds/"+world+"/lease/activate", activation)
	if err != nil {
		return h, err
	}
	request.Header.Set("Holdfast-Lease", h.authority())
	return h, s.tenant.do(request, http.StatusOK, nil)
}

// renewed renews the leases once before the first round, so that a comparison has
// a whole term before it, however long those before it took.
func (s *stack) renewed(worlds []held, r round) round {
	fresh := false
	return func(ctx context.Context, length time.Duration) (Result, error) {
		if !fresh {
			for _, body := range renewals(worlds) {
				if err := s.tenant.call(ctx, http.MethodPost, renewPath, body, http.StatusOK, nil); err != nil {
					return Result{}, err
				}
			}
			fresh = true
		}
		return r(ctx, length)
	}
}
