package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/devstack/internal/folder"
	"github.com/holdfast-dev/holdfast/devstack/internal/process"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 10 * time.Second

	// startAttempts bounds how often a port that was free is taken by another
	// before etcd gets it.
	startAttempts = 5
)

// server is a running etcd of one member. Each part is nil until it has started.
type server struct {
	endpoint string // the URL that clients call
	folder   *folder.Folder
	keeper   *process.Keeper
	process  *process.Child
}

// startServer starts etcd and returns when it serves. When it fails, nothing is
// left.
func startServer(ctx context.Context, starter *process.Starter) (*server, error) {
	s := &server{}
	if err := s.start(ctx, starter); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) start(ctx context.Context, starter *process.Starter) error {
	program, err := exec.LookPath("etcd")
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	// The same disk as the stack's databases, which etcd's commits wait for too.
	if s.folder, err = folder.Fresh(folder.Base(here, func(string) bool { return true })); err != nil {
		return err
	}
	if s.keeper, err = process.NewKeeper(starter, s.folder.Lock()); err != nil {
		return err
	}
	if err := s.keeper.Remove(s.folder.Path); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := s.launch(ctx, program, filepath.Join(s.folder.Path, "etcd-"+strconv.Itoa(attempt)))
		if err == nil || attempt == startAttempts || !strings.Contains(err.Error(), "address already in use") {
			return err
		}
	}
}

// launch starts etcd's process, and returns when it serves.
func (s *server) launch(ctx context.Context, program, data string) error {
	client, peer, err := freeURLs()
	if err != nil {
		return err
	}
	s.endpoint = client
	log, err := os.Create(s.log())
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(program, "--name=bench", "--data-dir="+data,
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=bench="+peer)
	command.Stdout, command.Stderr = log, log
	if s.process, err = s.keeper.Start(command, syscall.SIGKILL); err != nil {
		return err
	}
	return s.awaitReady(ctx)
}

// freeURLs are of two ports of the loopback address that nobody listened on a
// moment ago.
func freeURLs() (client, peer string, err error) {
	var urls [2]string
	for i := range urls {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		defer listener.Close() // both are held until both are known, so that they differ
		urls[i] = "http://" + listener.Addr().String()
	}
	return urls[0], urls[1], nil
}

// awaitReady returns when etcd has a leader and serves.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.ping(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.process.Ended():
			return fmt.Errorf("etcd ended at its start: %s", s.logTail())
		case <-ctx.Done():
			return fmt.Errorf("etcd doesn't serve: %w: %s", err, s.logTail())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *server) ping(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.endpoint+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// stop ends what has started, in reverse.
func (s *server) stop() error {
	var errs []error
	if s.process != nil {
		errs = append(errs, s.end())
	}
	if s.folder != nil {
		errs = append(errs, s.folder.Close())
	}
	if s.keeper != nil {
		errs = append(errs, s.keeper.Close())
	}
	return errors.Join(errs...)
}

func (s *server) end() error {
	s.process.Signal(syscall.SIGTERM)
	select {
	case <-s.process.Ended():
		return nil
	case <-time.After(stopTimeout):
	}
	s.process.KillGroup()
	<-s.process.Ended()
	return fmt.Errorf("etcd didn't end in %v and was killed", stopTimeout)
}

func (s *server) log() string { return filepath.Join(s.folder.Path, "etcd.log") }

// logTail is the end of etcd's log.
func (s *server) logTail() string {
	const length = 2048
	text, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-length):]))
}
