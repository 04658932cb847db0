package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// Private is the server of the private port: /metrics for Prometheus, /livez,
// which depends on nothing, and Go's profiles under /debug/pprof/. It has no authentication of its own, so its
// address must not be reachable from outside.
type Private struct {
	server   *http.Server
	listener net.Listener
}

// ServePrivate listens on address ("127.0.0.1:9091"; port 0 takes a free one)
// and serves in the background until Shutdown.
func (t *Telemetry) ServePrivate(ctx context.Context, address string) (*Private, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", t.Metrics)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Write([]byte("ok\n"))
	})
	p := &Private{listener: listener, server: &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(t.Log.Handler(), slog.LevelWarn),
	}}
	go func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			t.Log.Error("the private port failed", "error", err)
		}
	}()
	return p, nil
}

// Address is where it listens, host and port.
func (p *Private) Address() string { return p.listener.Addr().String() }

// Shutdown stops listening and lets requests that are under way finish, for as
// long as ctx allows.
func (p *Private) Shutdown(ctx context.Context) error { return p.server.Shutdown(ctx) }
