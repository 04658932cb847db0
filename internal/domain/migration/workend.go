package migration

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// fail ends a shift that an error has ended: the migration stops for a review,
// unless another worker was faster, or the process is about to end.
func (w *shift) fail(ctx context.Context, err error, collection string) (ended bool, _ error) {
	switch {
	case errors.Is(err, errFenced), ctx.Err() != nil:
		return w.handOn(ctx)
	case w.look(ctx, w.m.Tenant, w.m.ID, w.run.ID) == nil && !w.run.EndedAt.IsZero():
		// A pass was still under way when its run ended. The migration may be in another
		// run by now, of another build even, and what this one met says nothing of that.
		return true, nil
	case categoryOf(err) == Internal:
		w.log.ErrorContext(ctx, "a run failed", "tenant_id", w.m.Tenant, "migration_id", w.m.ID, "error", err)
	}
	if _, stopped := w.stop(ctx, w.m.Tenant, w.m.ID, stopFor(err, collection)); stopped != nil {
		return false, errors.Join(err, stopped)
	}
	return true, nil
}

// handOn notes how far the run is, and ends it when one of its bounds has come.
func (w *shift) handOn(ctx context.Context) (ended bool, err error) {
	ctx = context.WithoutCancel(ctx)
	if err := w.look(ctx, w.m.Tenant, w.m.ID, w.run.ID); err != nil {
		return false, err
	}
	if !w.run.EndedAt.IsZero() {
		return true, nil
	}
	at, err := w.checkpoints(ctx, &w.m)
	if err != nil {
		return false, err
	}
	made := passesOf(at) - w.run.before
	outcome := Outcome("")
	switch {
	case w.m.State == Paused:
		outcome = OutcomePaused
	case w.m.State != Active:
		outcome = OutcomeStopped
	case made >= RunPasses:
		outcome = OutcomePasses
	case w.over:
		outcome = OutcomeTime
	}
	if outcome == OutcomeTime || outcome == OutcomePasses {
		if stopped, err := w.review(ctx, w.run.StartedAt); err != nil || stopped {
			return stopped, err
		}
	}
	if err := w.sample(ctx, &w.m, totalOf(at)); err != nil {
		return false, err
	}
	err = w.control.ControlTx(ctx, w.m.Tenant, func(tx pgx.Tx) error {
		return noteRunTx(ctx, tx, &w.run, made, outcome)
	})
	return outcome != "" && err == nil, err
}

// conclude ends a run that has been through with every collection: nothing is left,
// or only what waits for a review.
func (w *shift) conclude(ctx context.Context) (ended bool, err error) {
	if w.over {
		return w.handOn(ctx)
	}
	if w.unresolved != "" {
		return w.unmovable(ctx)
	}
	if left, err := w.whatIsLeft(ctx, &w.m); err != nil || left != "" {
		return w.strange(ctx, left, err)
	}
	at, err := w.checkpoints(ctx, &w.m)
	if err != nil {
		return false, err
	}
	if err := w.sample(ctx, &w.m, totalOf(at)); err != nil {
		return false, err
	}
	err = w.control.ControlTx(ctx, w.m.Tenant, func(tx pgx.Tx) error {
		if _, err := transitTx(ctx, tx, &w.m, step{act: "drain", to: Drained, by: holdfast, note: totalOf(at)}); err != nil {
			return err
		}
		return noteRunTx(ctx, tx, &w.run, passesOf(at)-w.run.before, OutcomeDrained)
	})
	if domain.CodeOf(err) == errMoved.Code {
		return w.handOn(ctx)
	}
	return err == nil, err
}

// strange stops the migration for a collection that has rows of the former format,
// and that no shift takes: it has no checkpoint. Activating again makes one.
func (w *shift) strange(ctx context.Context, collection string, err error) (ended bool, _ error) {
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(w.at, func(c Checkpoint) bool { return c.Collection == collection && c.DrainedAt.IsZero() }) {
		return false, nil // the next shift takes it
	}
	_, err = w.stop(ctx, w.m.Tenant, w.m.ID, Stop{From: Activating, Category: SourceDefect, Collection: collection, NextStep: stepForStrange})
	return err == nil, err
}

// stepForStrange is what is safe to do about a collection that has no part in the
// migration, and should have.
const stepForStrange = "The collection has rows of the former format and hasn't accepted the plan: was a database restored? " +
	"Have the resumption approved, resume, activate again, and ask for a run."

// unmovable stops the migration behind a sweep that has moved nothing: for what is
// deferred, or for rows that no pass even finds a record for.
func (w *shift) unmovable(ctx context.Context) (ended bool, err error) {
	if stopped, err := w.review(ctx, time.Time{}); err != nil || stopped {
		return stopped, err
	}
	_, err = w.stop(ctx, w.m.Tenant, w.m.ID, Stop{Category: SourceDefect, Collection: w.unresolved, NextStep: stepForRows})
	return err == nil, err
}

// stepForRows is what is safe to do about rows that are of no record.
const stepForRows = "Rows are left that belong to no record, so no pass can take them. Find them by holdfast record check, " +
	"restore what is missing from a backup, then have the resumption approved."

// review stops the migration when sections were deferred since a moment.
func (w *shift) review(ctx context.Context, since time.Time) (stopped bool, err error) {
	deferred, err := w.DeferredOf(ctx, w.m.Tenant, w.m.ID)
	if err != nil {
		return false, err
	}
	for _, d := range deferred {
		if d.LastAt.Before(since) && len(deferred) < maxDeferred { // of more, not all are listed
			continue
		}
		_, err := w.stop(ctx, w.m.Tenant, w.m.ID, Stop{
			Category: SourceDefect, Collection: d.Collection, Key: d.Key, Section: d.Section, NextStep: nextSteps[SourceDefect],
		})
		return err == nil, err
	}
	return false, nil
}
