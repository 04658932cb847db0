package bench

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"time"

	"github.com/holdfast-dev/holdfast/internal/launch"
)

// etcd is a server of its own that is loaded with fenced puts, where etcd is
// installed.
type etcd struct {
	process *launch.Process // nil where it isn't
	client  *client
}

// startEtcd says so in one line where there is no etcd, and gives one without
// references.
func startEtcd(ctx context.Context, o Options) (*etcd, error) {
	if _, err := exec.LookPath("etcd"); err != nil {
		o.Note("etcd is not on the path: measuring without it (apt-get install etcd-server)")
		return &etcd{}, nil
	}
	process, err := launch.Start(ctx, []string{"etcdload"}, nil, o.Log)
	if err != nil {
		return nil, err
	}
	return &etcd{process, newClient("http://"+process.Address, 1)}, nil
}

func (e *etcd) stop() error {
	if e.process == nil {
		return nil
	}
	return e.process.Stop()
}

// puts is the reference of appends to so many worlds.
func (e *etcd) puts(worlds int, atLeast float64) []Reference {
	if e.process == nil {
		return nil
	}
	return against("etcd put", fmt.Sprintf("etcd, a put in a transaction that compares its owner's key, %s, %d callers on one connection of its Go client",
		journals(worlds), appenders), atLeast, e.put(worlds))
}

func (e *etcd) put(worlds int) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		var measured struct {
			Operations        int
			Elapsed, P50, P99 time.Duration
		}
		path := fmt.Sprintf("/rounds?callers=%d&worlds=%d&length=%v", appenders, worlds, length)
		err := e.client.call(ctx, http.MethodPost, path, nil, http.StatusOK, &measured)
		return Result(measured), err
	}
}
