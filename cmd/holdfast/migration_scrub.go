package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// scrubbing is what the command is told.
type scrubbing struct {
	bodies, bytes int64
	duration      time.Duration
	watch         bool
	watching      watching
	command       *cobra.Command
}

func newMigrationScrub(r *remote) *cobra.Command {
	s := &scrubbing{duration: 24 * time.Hour}
	s.command = act{
		use:    "scrub",
		short:  "Have every body that was moved read and hashed",
		states: []string{"active", "paused", "stopped", "drained", "verified", "closed"},
		long: "A worker of the plan's build reads every body that the covered collections keep in the object store, up\n" +
			"to the budget. What it covered is recorded, and the next scrub goes on from there.\n\n" +
			"It only asks. With --watch it follows; an interruption ends the watching, and not the scrub.\n" +
			"The exit code is then 3 when a body is corrupt or missing, and 4 when it isn't through.\n\n",
		would: func(context.Context, caller, target) (string, error) {
			return "It would ask a worker to read and hash every body that the covered collections keep in the object store. It changes none.", nil
		},
		do: s.ask,
	}.command(r)
	flags := s.command.Flags()
	flags.Var(wholeFrom(&s.bodies, 1), "bodies", "how many bodies it reads at most")
	flags.Var(wholeFrom(&s.bytes, 1), "bytes", "how many bytes it reads at most")
	flags.Var(lastingIn(&s.duration, time.Minute, 720*time.Hour), "duration", "how long it reads at most, from 1m to 720h")
	flags.BoolVar(&s.watch, "watch", false, "follow until it has ended")
	s.watching.add(flags)
	return s.command
}

func (s *scrubbing) ask(ctx context.Context, api caller, t target) (answer, error) {
	flags := s.command.Flags()
	budget := &holdfast.ScrubBudget{}
	if flags.Changed("bodies") {
		budget.Bodies = &s.bodies
	}
	if flags.Changed("bytes") {
		budget.Bytes = &s.bytes
	}
	if flags.Changed("duration") {
		budget.DurationSeconds = new(int64(s.duration / time.Second))
	}
	begun, err := api.ScrubMigrationWithResponse(ctx, t.tenant, t.id, holdfast.NewScrub{PlanHash: t.hash, Budget: budget})
	switch {
	case err != nil:
		return answer{}, err
	case s.watch:
		return s.follow(ctx, api, t, begun.JSON202.ReportID)
	}
	return reportView.one(*begun.JSON202), nil
}

// follow shows how far a scrub is until it has ended, and then what it came to.
func (s *scrubbing) follow(ctx context.Context, api caller, t target, report string) (answer, error) {
	shown := newFollowed(s.command.ErrOrStderr())
	defer shown.line.clear()
	for failed := 0; ; {
		got, err := api.GetMigrationReportWithResponse(ctx, t.tenant, t.id, report)
		switch {
		case err == nil:
			failed = 0
			if got.JSON200.EndedAt != nil {
				return showReport(*got.JSON200), nil
			}
			shown.showScrub(deref(got.JSON200.Scrub))
		case failed == failedLooks || !passing(err):
			return answer{}, err
		default:
			failed++
			shown.away(plain(api.url, err))
		}
		if err := pause(ctx, s.watching.every); err != nil {
			return answer{}, errors.New("interrupted; the scrub goes on: holdfast migration report " + t.tenant + " " + t.id + " " + report)
		}
	}
}

func (f *followed) showScrub(s holdfast.ScrubProgress) {
	line := fmt.Sprintf("%s read, %d corrupt, %d missing, %d not answered for", scrubbedOf(s), s.Corrupt, s.Missing, s.Unreachable)
	if f.line.terminal {
		f.line.show("%s%s", bar(s.Bodies, s.OfBodies), line)
		return
	}
	percent := int64(-1)
	if s.OfBodies > 0 {
		percent = s.Bodies * 100 / s.OfBodies
	}
	if about := fmt.Sprint(percent, s.Corrupt, s.Missing, s.Unreachable); about != f.said {
		f.said = about
		fmt.Fprintln(f.line.out, line)
	}
}
