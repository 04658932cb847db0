package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// publicServer is the API's listener.
type publicServer struct {
	server   *http.Server
	listener net.Listener
	failed   chan error // gets the error of a listener that broke
}

// servePublic listens on address ("127.0.0.1:8080"; port 0 takes a free one) and
// serves in the background. Its timeouts bound what a slow or silent client can
// hold: the whole request must arrive within 20 seconds, and an answer may take
// the API's own deadline and the time to send it. The API gives more to the few
// operations that the document gives a time of their own.
func servePublic(ctx context.Context, address string, handler http.Handler, log *slog.Logger) (*publicServer, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the API's address: %w", err)
	}
	s := &publicServer{listener: listener, failed: make(chan error, 1), server: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       20 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}
	go func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("the API's listener: %w", err)
		}
	}()
	return s, nil
}

// address is where it listens, host and port.
func (s *publicServer) address() string { return s.listener.Addr().String() }

// turnAway closes each connection behind its next answer, so that callers find
// another process.
func (s *publicServer) turnAway() { s.server.SetKeepAlivesEnabled(false) }

// shutdown takes no more connections and waits for the requests under way. Those
// that ctx does not wait for are cut off, and are an error.
func (s *publicServer) shutdown(ctx context.Context) error {
	if err := s.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off: %w", err), s.server.Close())
	}
	return nil
}
