// Etcdload runs one etcd on loopback and loads it with fenced puts, for
// benchmarks to compare with.
//
//	etcdload
//
// It takes the etcd of the path, with its defaults and its data in a temporary
// folder, says on standard output where it listens, and measures a round for
// each request:
//
//	POST /rounds?callers=64&worlds=1&length=5s
//
// The answer is a round (see load.go) as JSON. Both end with SIGTERM, SIGINT, or
// the parent's death.
//
// It stands in this module because etcd's client brings what no product should
// carry for the sake of a benchmark, and because starting a server that can't be
// left behind is done here already.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/devstack/internal/process"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("etcdload: ")
	if err := dispatch(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func dispatch(args []string) error {
	switch {
	case len(args) == 0:
		return run()
	case len(args) == 1 && args[0] == process.GuardArgument:
		return process.Guard(os.Stdin)
	default:
		return errors.New("usage: etcdload")
	}
}

func run() (err error) {
	starter := process.NewStarter()
	interrupts, err := process.Interrupts(starter)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { <-interrupts; cancel() }()
	server, err := startServer(ctx, starter)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	return serve(ctx, &rounds{endpoint: server.endpoint})
}

// serve measures rounds until the context ends.
func serve(ctx context.Context, r *rounds) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	web := http.Server{Handler: r, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { web.Close() })
	fmt.Printf("The reference listens on http://%s\n", listener.Addr())
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// rounds measures one round a request.
type rounds struct{ endpoint string }

func (s *rounds) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost || request.URL.Path != "/rounds" {
		http.NotFound(w, request)
		return
	}
	query := request.URL.Query()
	callers, errCallers := strconv.Atoi(query.Get("callers"))
	worlds, errWorlds := strconv.Atoi(query.Get("worlds"))
	length, errLength := time.ParseDuration(query.Get("length"))
	if err := errors.Join(errCallers, errWorlds, errLength); err != nil || callers < 1 || worlds < 1 {
		http.Error(w, "a round has callers, worlds and a length", http.StatusBadRequest)
		return
	}
	measured, err := measure(request.Context(), s.endpoint, callers, worlds, length)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(measured)
}
