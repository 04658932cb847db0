package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/fleet"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// outcomeWithin is what the entry may take that is written when a command ends, which
// an interrupt may have ended.
const outcomeWithin = 5 * time.Second

// actSubjects are what an act is about, by names.
type actSubjects = map[string]string

// audited does what a command does to the databases themselves, as an act of the audit
// log: begun there before, and with its outcome behind it. Who does it, the log can't
// know: whoever has the owner's password.
func audited(ctx context.Context, router *postgres.Router, operation string, subjects actSubjects, do func() error) error {
	log := ownersLog(router)
	e := audit.Entry{Operation: operation, Subjects: subjects, Outcome: audit.Begun}
	begun, err := log.Append(ctx, e)
	if err != nil {
		return fmt.Errorf("the act can't be written to the audit log, and so it isn't done: %w", err)
	}
	done := do()
	e.Act = begun
	e.Outcome, e.Code = outcomeOf(done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeWithin)
	defer cancel()
	if _, err := log.Append(ctx, e); err != nil {
		return errors.Join(done, fmt.Errorf("how the act ended is not in the audit log: %w", err))
	}
	return done
}

func ownersLog(router *postgres.Router) *audit.Log {
	return audit.New(tenancy.NewStore(router.Control(), nil, nil, time.Now), nil, time.Now)
}

// outcomeOf tells what the databases' state doesn't allow from what failed, of which a
// part may have been done.
func outcomeOf(err error) (outcome audit.Outcome, code string) {
	var refused fleet.RefusedError
	var different fleet.DifferentError
	var busy postgres.NumbersBusyError
	switch {
	case err == nil:
		return audit.Done, ""
	case errors.As(err, &refused), errors.As(err, &different), errors.As(err, &busy),
		errors.Is(err, restore.ErrNothing), errors.Is(err, restore.ErrNotClosed), errors.Is(err, restore.ErrUnreconciled):
		return audit.Refused, domain.CodeOf(err)
	default:
		return audit.Failed, "outcome_unknown"
	}
}

// tellSchemaUp writes what was done to the schema to the audit log, which may be there
// only behind it. It gives the error of what was done, or of writing it.
func tellSchemaUp(ctx context.Context, router *postgres.Router, last actSubjects, done error) error {
	e := audit.Entry{Operation: "schema.up", Subjects: last}
	e.Outcome, e.Code = outcomeOf(done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeWithin)
	defer cancel()
	_, err := ownersLog(router).Append(ctx, e)
	if done != nil {
		return done // without the log too, which a schema that is half there may lack
	}
	return err
}
