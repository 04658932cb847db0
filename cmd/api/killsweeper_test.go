package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// runAsSweeper makes this test binary a process that sweeps and cleans up, so
// that a test can kill it.
const runAsSweeper = "HOLDFAST_TEST_RUN_AS_SWEEPER"

// sweepOnDemand does all there is to do in one number for each byte that it
// reads, one number after the other, until its input ends. It says what fails.
func sweepOnDemand(environ []string, input io.Reader, output io.Writer) error {
	c, err := config.Load(config.Worker, environ)
	if err != nil {
		return err
	}
	ctx := context.Background()
	router, err := postgres.Open(ctx, c.Postgres())
	if err != nil {
		return err
	}
	defer router.Close()
	s := identity.New(router, nil, identity.Options{})
	for n := os.Getpid(); ; n++ {
		if _, err := io.ReadFull(input, make([]byte, 1)); err != nil {
			return nil
		}
		number := domain.Number(n % domain.Numbers)
		if _, err := sweepNumber(ctx, s, router.Database(number).Name, number); passing(err) != nil {
			fmt.Fprintln(output, err)
		}
	}
}

// sweepNumber takes every sweep and every cleanup of one number to the end of its
// pass, and tells how much came of it.
func sweepNumber(ctx context.Context, s *identity.Service, database string, number domain.Number) (done int, err error) {
	steps := sweepsOfOperations(ctx, s, database, number)
	for _, family := range []domain.Family{domain.FamilyHandle, domain.FamilyEmail, domain.FamilyDeviceCode} {
		steps = append(steps, func() (identity.SweepStep, error) { return s.SweepClaims(ctx, database, family, number, sweepPage) })
	}
	for _, task := range identity.CleanupTasks() {
		steps = append(steps, func() (identity.SweepStep, error) { return s.Cleanup(ctx, database, task, number, sweepPage) })
	}
	return takeAll(steps)
}

func sweepsOfOperations(ctx context.Context, s *identity.Service, database string, number domain.Number) (steps []sweeping) {
	for _, family := range []domain.Family{domain.FamilyAccount, domain.FamilyDevice} {
		steps = append(steps, func() (identity.SweepStep, error) { return s.SweepOperations(ctx, database, family, number, sweepPage) })
	}
	return steps
}

// sweeping is a step of a pass.
type sweeping func() (identity.SweepStep, error)

// takeAll takes each to the end of its pass, unless somebody else is at it.
func takeAll(steps []sweeping) (done int, err error) {
	for _, step := range steps {
		for {
			did, e := step()
			done += did.Recovered
			err = errors.Join(err, e)
			if did.Done || did.Busy || e != nil {
				break
			}
		}
	}
	return done, err
}

const sweepPage = 10

// passing leaves out that a database kept a step waiting, for the locks of a
// process that has stalled.
func passing(err error) error {
	if domain.KindOf(err) == domain.KindUnavailable {
		return nil
	}
	return err
}

// sweeper is such a process.
type sweeper struct {
	demand io.WriteCloser
	log    *lockedBuffer
	kill   func()
	stop   func() error // lets it end what it is at
}

func (s *stack) spawnSweeper(t *testing.T) *sweeper {
	t.Helper()
	w := &sweeper{log: &lockedBuffer{}}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(s.installation.Environ(), "HOLDFAST_POOL_SIZE=2", runAsSweeper+"=1")
	cmd.Stderr = w.log
	var err error
	if w.demand, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait := sync.OnceValue(cmd.Wait)
	w.kill = func() { cmd.Process.Kill(); wait() }
	w.stop = func() error { w.demand.Close(); return wait() }
	t.Cleanup(w.kill)
	return w
}
