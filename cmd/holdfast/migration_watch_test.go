package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// running is a migration with a run that has moved some of its 40 records.
func running(moved int64, changes ...func(*holdfast.TenantMigrationStatus)) holdfast.TenantMigrationStatus {
	s := inState("active")
	run := holdfast.MigrationRun{RunID: aRun, Build: "v2", AskedBy: "grace", StartedAt: someTime, Deadline: someTime.Add(50 * time.Minute)}
	s.Runs, s.Progress.Run = []holdfast.MigrationRun{run}, &run
	s.Progress.Total.Records, s.Progress.Left.Records = moved, 40-moved
	s.Progress.Pace5Minutes = &holdfast.MigrationPace{RecordsPerSecond: 2.5, BytesPerSecond: 2048}
	s.Progress.RemainingSeconds = new((40 - moved) * 2)
	s.Progress.Next = holdfast.MigrationNext{Code: "passes", Text: "The run goes on."}
	for _, change := range changes {
		change(&s)
	}
	return s
}

// over is behind a run.
func over(state, outcome string) holdfast.TenantMigrationStatus {
	s := inState(state)
	s.Runs = []holdfast.MigrationRun{{RunID: aRun, Build: "v2", AskedBy: "grace", StartedAt: someTime, Deadline: someTime, EndedAt: &someTime, Outcome: &outcome}}
	return s
}

func slow(s *holdfast.TenantMigrationStatus) {
	s.Progress.Reasons = []holdfast.MigrationReason{{Code: "caps_lowered", Text: "Its caps are lowered."}}
}

func TestMigrationWatch_TheExitCodeTellsHowTheRunEnded(t *testing.T) {
	t.Parallel()
	for state, c := range map[string]struct {
		outcome string
		code    int
	}{
		"drained": {"drained", exitOK}, "verified": {"drained", exitOK}, "stopped": {"stopped", exitDiffers},
		"paused": {"paused", exitLater}, "active": {"time", exitLater},
	} {
		s := scriptedActs(t, "active")
		// The state is read before the run, so that it may be the former one when the run
		// has just ended.
		behind := over("active", c.outcome)
		s.on("GET "+thisMigration, running(0), running(10), behind, over(state, c.outcome))
		s.on("POST "+thisMigration+"/run", running(0).Runs[0])
		got := execute(t, s.environ, "migration", "run", aTenant, aMigration, "--execute", "--watch", "--every", "1ms")
		if got.code != c.code || !strings.Contains(got.stdout, "\nSTATE             "+state+"\n") || !strings.Contains(got.stdout, " "+c.outcome+"\n") {
			t.Errorf("%s: %+v", state, got)
		}
		if diff := cmp.Diff([]asked{{thisMigration + "/run", `{"plan_hash":"` + aPlan + `"}`}}, s.wasAsked()); diff != "" {
			t.Errorf("the API was asked for (-want +got):\n%s", diff)
		}
	}
}

func TestMigrationRun_WithoutWatch_OnlyAsks(t *testing.T) {
	t.Parallel()
	s := scriptedActs(t, "active")
	s.on("POST "+thisMigration+"/run", running(0).Runs[0])
	got := execute(t, s.environ, "migration", "run", aTenant, aMigration, "--execute")
	if got.code != exitOK || !strings.HasPrefix(got.stdout, "RUN        "+aRun+"\n") || got.stderr != "" {
		t.Errorf("it says %+v", got)
	}
}

func TestMigrationWatch_WithoutATerminal_ALineForWhatHasChanged(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	later := running(20)
	later.Progress.At = someTime.Add(time.Minute)
	s.on("GET "+thisMigration, running(10), running(10), running(20, slow), later, later, over("drained", "drained"))
	got := execute(t, s.environ, "migration", "show", aTenant, aMigration, "--watch", "--every", "1ms")
	want := "2026-11-30T12:00:00Z active, 10 of 40 records moved, 5 min: 2.5 records/s, 2.0 KiB/s, 60 min: -, left: 1m0s, next: The run goes on.\n" +
		"2026-11-30T12:00:00Z active, 20 of 40 records moved, 5 min: 2.5 records/s, 2.0 KiB/s, 60 min: -, left: 40s, Its caps are lowered., next: The run goes on.\n" +
		"2026-11-30T12:01:00Z active, 20 of 40 records moved, 5 min: 2.5 records/s, 2.0 KiB/s, 60 min: -, left: 40s, next: The run goes on.\n" +
		"2026-11-30T12:00:00Z drained, 10 of 40 records moved, 5 min: -, 60 min: -, left: -, next: Nothing, until an operator acts.\n"
	if diff := cmp.Diff(want, got.stderr); diff != "" || got.code != exitOK {
		t.Errorf("code %d, lines (-want +got):\n%s", got.code, diff)
	}
}

func TestMigrationWatch_OnATerminal_ABar(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	partly := running(30, slow)
	partly.Progress.Left.Whole = false // nobody knows how much all is
	s.on("GET "+thisMigration, running(10), partly, over("drained", "drained"))
	keyboard, terminal, err := pty.Open()
	must(t, err)
	defer keyboard.Close()
	shown := make(chan string)
	go func() {
		var all bytes.Buffer
		_, _ = io.Copy(&all, keyboard) // it ends by an error when the other side is closed
		shown <- all.String()
	}()
	root := newRoot(s.environ)
	root.SetOut(io.Discard)
	root.SetErr(terminal)
	root.SetArgs([]string{"migration", "show", aTenant, aMigration, "--watch", "--every", "1ms"})
	err = root.ExecuteContext(t.Context())
	terminal.Close()
	lines := strings.Split(<-shown, "\r")
	if err != nil || len(lines) < 4 || !strings.HasPrefix(lines[1], "[#####...............] 25 % active, 10 of 40 records moved, 5 min: 2.5 records/s") ||
		!strings.HasPrefix(lines[2], "active, 30 of at least 40 records moved") || strings.Contains(strings.Join(lines, ""), "\n") {
		t.Errorf("%v, it shows\n%q", err, lines)
	}
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		t.Errorf("the line isn't cleared: %q", last)
	}
}

func TestMigrationShow_WatchWithoutARun_EndsAtOnce(t *testing.T) {
	t.Parallel()
	for state, code := range map[string]int{"active": exitLater, "stopped": exitDiffers, "drained": exitOK, "closed": exitOK} {
		s := newScripted(t)
		s.on("GET "+thisMigration, inState(state))
		if got := execute(t, s.environ, "migration", "show", aTenant, aMigration, "--watch"); got.code != code {
			t.Errorf("%s: %+v", state, got)
		}
	}
}

func TestMigrationWatch_GoesOnWhenTheAPIIsAway_AndNotWhenItRefuses(t *testing.T) {
	t.Parallel()
	away := problem{Status: 503, Code: "database_unavailable", Detail: "The database is away.", Request: "r"}
	s := newScripted(t)
	s.on("GET "+thisMigration, running(10), away, away, over("drained", "drained"))
	got := execute(t, s.environ, "migration", "show", aTenant, aMigration, "--watch", "--every", "1ms")
	if got.code != exitOK || strings.Count(got.stderr, "no answer, trying again: ") != 1 {
		t.Errorf("away for a while: %+v", got)
	}
	s.on("GET "+thisMigration, running(10), away)
	if got := refusedInTheEnd(t, s); !strings.HasSuffix(got, "holdfast: The database is away. (database_unavailable, request r)\n") {
		t.Errorf("away for good: %s", got)
	}
	s.on("GET "+thisMigration, running(10), problem{Status: 403, Code: "insufficient_scope", Detail: "No.", Request: "r"})
	if got := refusedInTheEnd(t, s); !strings.HasSuffix(got, "holdfast: No. (insufficient_scope, request r)\n") || strings.Contains(got, "trying again") {
		t.Errorf("refused: %s", got)
	}
}

func refusedInTheEnd(t *testing.T, s *scripted) string {
	t.Helper()
	return refused(t, s.environ, exitFailed, "migration", "show", aTenant, aMigration, "--watch", "--every", "1ms")
}

func TestMigrationWatch_Interrupted_SaysThatTheRunGoesOn(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	s.on("GET "+thisMigration, running(10))
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	root := newRoot(s.environ)
	root.SetOut(io.Discard)
	root.SetErr(writerFunc(func(string) { interrupt() })) // at the first line
	root.SetArgs([]string{"migration", "show", aTenant, aMigration, "--watch", "--every", "1h"})
	err := root.ExecuteContext(ctx)
	var exit exitError
	if !errors.As(err, &exit) || exit.code != exitFailed || !strings.Contains(err.Error(), "the run goes on: holdfast migration show "+aTenant+" "+aMigration+" --watch") {
		t.Errorf("%v", err)
	}
}

func TestMigrationShow_TellsWhyItIsStoppedAndWhatIsSafe(t *testing.T) {
	t.Parallel()
	s := newScripted(t)
	stopped := transitioned(over("stopped", "stopped"), "stop", "{}")
	stopped.Progress.Collections = []holdfast.MigrationCollection{{Collection: "orders", Build: "v2", Held: true, Left: holdfast.MigrationLeft{Records: 3}, MovedAt: someTime}}
	s.on("GET "+thisMigration, stopped)
	got := execute(t, s.environ, "migration", "show", aTenant, aMigration)
	for _, want := range []string{
		"\nMOVED             10 of 40 records, 12 bodies of 4.0 KiB\n",
		"\nSTOPPED           A section isn't what its row says. (source_defect) collection \"orders\", record \"o-1\", section \"items\"\n",
		"\nNEXT STEP         List the deferred sections.\n", "\norders      0      at least 3  0         0      0         yes", "stopped  stopped  ada",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("it doesn't show %q in\n%s", want, got.stdout)
		}
	}
	if got.code != exitOK || strings.Contains(got.stdout, "REPORT") {
		t.Errorf("it shows a table of nothing, or code %d", got.code)
	}
}
