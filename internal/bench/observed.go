package bench

import (
	"context"
	"io"
	"net"

	"github.com/holdfast-dev/holdfast/internal/launch"
)

// observed is a process of Holdfast's whose work is counted, by the system and by
// its private port.
type observed struct {
	*launch.Process
	private *client
	idle    int64 // bytes that it had resident before there was any load
}

// observe starts one of Holdfast's programs, with a private port and a quiet log.
func observe(ctx context.Context, program string, log io.Writer, settings ...string) (*observed, error) {
	private, err := freeAddress()
	if err != nil {
		return nil, err
	}
	settings = append(settings, "HOLDFAST_METRICS_ADDRESS="+private, "HOLDFAST_LOG_LEVEL=warn")
	process, err := launch.Start(ctx, []string{program}, settings, log)
	if err != nil {
		return nil, err
	}
	return &observed{Process: process, private: newClient("http://"+private, 1)}, nil
}

// rest notes what the process has in memory as what it has when idle.
func (o *observed) rest() { o.idle = o.usage().resident() }

func (o *observed) usage() usage { return usage(o.PID()) }

// freeAddress is one that was free a moment ago.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
