package main

import (
	"errors"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// work is what a process is killed at, once before and once behind every commit.
type work struct {
	handle, email string // the databases of the claims
	begin         func(*holdfast.ClientWithResponses, *scene) error
	do            func(*holdfast.ClientWithResponses, *scene) error
	steps         []step
}

// step is one step of the protocol, told by a statement of its transaction.
type step struct {
	name      string
	statement string  // a part of it
	before    remains // what there is when the process comes to it
	after     remains // what its commit leaves; the same where the commit is a later step's
}

// death is where a process dies, and what it leaves.
type death struct {
	name    string
	moment  testkit.Moment
	arrives bool // what was sent at that moment still reaches the server
	before  remains
	leaves  remains
}

func (w work) deaths() (all []death) {
	for _, s := range w.steps {
		all = append(all, death{"before the " + s.name, testkit.Statement(s.statement), false, s.before, s.before})
		if s.before != s.after {
			all = append(all,
				death{"in the " + s.name + ", not committed", testkit.CommitOf(s.statement), false, s.before, s.before},
				death{"behind the " + s.name, testkit.CommitOf(s.statement), true, s.before, s.after})
		}
	}
	return all
}

// killAtEveryStep kills one process after the other, each in a tenant of its own.
// Its successor must serve at once what the dead one left, and a sweep clear it.
func killAtEveryStep(t *testing.T, w work) {
	k := newKilling(t)
	process := k.spawn(t)
	var scenes []*scene
	for n, death := range w.deaths() {
		s := k.stage(t, process, w, n, death)
		k.kill(t, process, w, s)
		k.directory.check(t, s.name, false)
		process = k.spawn(t)
		k.expectServed(t, process, s)
		scenes = append(scenes, s)
	}
	k.directory.recover(t)
	k.directory.check(t, "when all was swept", true)
	for _, s := range scenes {
		k.expectUsable(t, process, s)
	}
	k.directory.check(t, "at the end", true)
}

// killing is a stack whose processes reach the databases over a network that
// holds what they send.
type killing struct {
	*stack
	network   *testkit.Proxied
	directory *directory
}

func newKilling(t *testing.T) *killing {
	t.Helper()
	installation := testkit.Databases(t, 3)
	network := installation.Through(t)
	return &killing{
		stack:     stackOn(installation, network.Settings(postgres.RoleAPI)),
		network:   network,
		directory: openDirectory(t, installation),
	}
}

// kill lets the process work until it comes to its death.
func (k *killing) kill(t *testing.T, process *running, w work, s *scene) {
	t.Helper()
	trap, answered := k.hold(t, process, w, s)
	process.kill()
	if s.arrives {
		trap.Release()
	} else {
		for _, database := range []string{"data1", "data2", "data3"} {
			k.network.Proxy(database).CutAll()
		}
	}
	k.directory.awaitSilence(t)
	var answer *holdfast.Error
	if err := <-answered; err == nil || errors.As(err, &answer) {
		t.Errorf("%s: the caller of a dead process was told %v", s.name, err)
	}
	if got := k.directory.remainsOf(t, s.id); got != s.leaves {
		t.Errorf("%s: it leaves %+v, want %+v", s.name, got, s.leaves)
	}
}

// hold lets the process work until it comes to its death, and holds it there once
// all else is done that can be.
func (k *killing) hold(t *testing.T, process *running, w work, s *scene) (*testkit.Trap, <-chan error) {
	t.Helper()
	client := k.client(t, process, s)
	if err := w.begin(client, s); err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	trap := k.network.HoldBefore(t, s.moment)
	answered := make(chan error, 1)
	go func() { answered <- w.do(client, s) }()
	select {
	case <-trap.Met():
	case err := <-answered:
		t.Fatalf("%s: it went through: %v", s.name, err)
	}
	eventually(t, s.name+": all else is done", func() bool { return k.directory.remainsOf(t, s.id) == s.before })
	return trap, answered
}
