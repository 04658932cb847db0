package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/pflag"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

const watchExits = "With --watch the exit code is 0 when nothing is left to move, 3 when the migration is stopped for a\n" +
	"review, and 4 when the run ended before that: paused, or at the end of its bounds."

// watching follows a migration's run until it has ended.
type watching struct {
	every time.Duration // between two looks
}

func (w *watching) add(flags *pflag.FlagSet) {
	w.every = 2 * time.Second
	flags.Var(lastingIn(&w.every, time.Millisecond, 24*time.Hour), "every", "how long to wait between two looks, with --watch")
}

// failedLooks bounds how often in a row the API may be away, each time behind the
// client's own tries: a run goes on without anybody's watching.
const failedLooks = 20

// follow shows how far the run is, and then where the migration stands. Without the
// id of a run it is the open one. None open means that it has ended.
func (w watching) follow(ctx context.Context, api caller, out io.Writer, tenant, id, run string) (answer, error) {
	shown := newFollowed(out)
	defer shown.line.clear()
	for failed := 0; ; {
		status, err := migrationStatus(ctx, api, tenant, id)
		switch {
		case err == nil:
			failed = 0
			if run == "" && status.Progress.Run != nil {
				run = status.Progress.Run.RunID
			}
			shown.show(status)
			if runEnded(status, run) {
				return w.ended(ctx, api, tenant, id)
			}
		case failed == failedLooks || !passing(err):
			return answer{}, err
		default:
			failed++
			shown.away(plain(api.url, err))
		}
		if err := pause(ctx, w.every); err != nil {
			return answer{}, errors.New("interrupted; the run goes on: holdfast migration show " + tenant + " " + id + " --watch")
		}
	}
}

// runEnded tells whether a run isn't open any more.
func runEnded(s holdfast.TenantMigrationStatus, run string) bool {
	for _, r := range s.Runs {
		if r.RunID == run {
			return r.EndedAt != nil
		}
	}
	return s.Progress.Run == nil || s.Progress.Run.RunID != run
}

// ended looks once more: the state may have been read before the run ended.
func (w watching) ended(ctx context.Context, api caller, tenant, id string) (answer, error) {
	status, err := migrationStatus(ctx, api, tenant, id)
	if err != nil {
		return answer{}, err
	}
	told := showStatus(status)
	switch status.Migration.State {
	case "drained", "verified", "closed":
	case "stopped":
		told.differs = true
	default:
		told.later = true
	}
	return told, nil
}

// passing tells an error that may be over in a while.
func passing(err error) bool {
	var refused *holdfast.Error
	return !errors.As(err, &refused) || refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests
}

// pause waits, and fails when ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// followed shows a run: a bar on a terminal, and elsewhere a line whenever something
// has changed that is worth one, and each minute.
type followed struct {
	line *progress
	said string // what the last line was about
	at   time.Time
}

func newFollowed(out io.Writer) *followed { return &followed{line: newProgress(out)} }

func (f *followed) show(s holdfast.TenantMigrationStatus) {
	p := s.Progress
	if f.line.terminal {
		f.line.show("%s%s", barOf(p), followedLine(s))
		return
	}
	about := fmt.Sprint(s.Migration.State, percentOf(p), p.Deferred, reasonsOf(p.Reasons), p.Next.Code)
	if about == f.said && p.At.Sub(f.at) < time.Minute {
		return
	}
	f.said, f.at = about, p.At
	fmt.Fprintf(f.line.out, "%s %s\n", when(p.At), followedLine(s))
}

func barOf(p holdfast.MigrationProgress) string {
	if percentOf(p) < 0 {
		return ""
	}
	return bar(p.Total.Records, p.Total.Records+p.Left.Records)
}

// followedLine says on one line where a migration is.
func followedLine(s holdfast.TenantMigrationStatus) string {
	p := s.Progress
	parts := []string{s.Migration.State, movedOf(s) + " moved",
		"5 min: " + paceOf(p.Pace5Minutes), "60 min: " + paceOf(p.Pace60Minutes), "left: " + leftOf(p.RemainingSeconds)}
	if p.Deferred > 0 {
		parts = append(parts, counted(p.Deferred, "section")+" deferred")
	}
	if why := reasonsOf(p.Reasons); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(append(parts, "next: "+p.Next.Text), ", ")
}

// away says that there was no answer.
func (f *followed) away(err error) {
	if f.line.terminal {
		f.line.show("no answer, trying again: %v", err)
		return
	}
	if f.said == "away" {
		return
	}
	f.said = "away"
	fmt.Fprintf(f.line.out, "no answer, trying again: %v\n", err)
}
