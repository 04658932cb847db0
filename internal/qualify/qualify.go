// Package qualify finds out what a build can do with the databases and the bucket
// that it is configured with, before it is trusted with anybody's bodies there.
//
// It puts the promises of storage to the bucket, below a prefix of its own that it
// cleans up. Then it takes small collections of a tenant of its own, one on each
// database, through a migration there and back, by the functions that migrations are
// made with, and looks before and after through the readers that tenants have. What
// it saw is a report; the report's hash is what a plan names.
//
// Every run has collections of its own. They stay, with some two dozen records each:
// a collection can't be removed, and what went wrong can be looked at.
package qualify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/objectstore/conformance"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// Suite is what a qualification is made with: all of it is the configured
// installation's own.
type Suite struct {
	Router     *postgres.Router
	Records    *record.Service
	Migrations *migration.Service
	Store      conformance.Store
	Caller     tenancy.Scope // an operator's, with tenancy.OperatorTenants
	Commands   []string      // that were run, for the report

	Seen func(migration.Observation) // each as it is made; nil for nobody
}

// limits are of what a report says.
var limits = []string{
	"One process, one request of each kind at a time but for 32 that make one object: no capacity follows from it.",
	"A few dozen small records a database, of bodies of 600 KiB at most.",
	"No fault was made: what a store or a network does when it misbehaves is tested with the code.",
	"The bucket's lifecycle rules were those of the time.",
}

// Run makes a qualification, passed or not: what didn't go well is an observation.
// Nothing of it is kept yet.
//
// Errors: unavailable, when the databases don't say who they are; the context's.
func (s *Suite) Run(ctx context.Context) (migration.Qualification, error) {
	runtime, err := s.Migrations.Runtime(ctx)
	if err != nil {
		return migration.Qualification{}, err
	}
	r := &run{
		Suite: s, id: domain.NewID[domain.RunKind](time.Now()), first: map[string]int64{},
		report: migration.Qualification{
			Type: migration.QualificationType, Build: runtime.Build, StartedAt: now(),
			Databases: byName(runtime.Databases), Store: runtime.Store, Commands: s.Commands, Limits: limits, Passed: true,
		},
	}
	r.store(ctx)
	r.observe("no lifecycle rule of the bucket can delete bodies, and the rules can be read", func() (string, error) {
		rules, err := s.Records.StoreRules(ctx)
		return fmt.Sprintf("%d rules", len(rules)), err
	})
	r.migration(ctx)
	r.report.EndedAt = now()
	return r.report, ctx.Err()
}

// run is one qualification under way.
type run struct {
	*Suite
	id     domain.RunID
	scope  tenancy.Scope    // of the tenant of qualifications
	first  map[string]int64 // by collection, the revision of its first publication
	report migration.Qualification
}

// byName are databases in the order that a report has.
func byName(databases []migration.Database) []migration.Database {
	return slices.SortedFunc(slices.Values(databases), func(a, b migration.Database) int { return cmp.Compare(a.Name, b.Name) })
}

// now is the time as reports have it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// observe makes an observation of what look sees, and tells whether it is as it
// should be.
func (r *run) observe(promise string, look func() (detail string, err error)) bool {
	begun := time.Now()
	detail, err := look()
	o := migration.Observation{Promise: promise, Passed: err == nil, Detail: detail}
	if err != nil {
		o.Detail = told(err)
		r.report.Passed = false
	} else if o.Detail == "" {
		o.Detail = fmt.Sprintf("%d ms", time.Since(begun).Milliseconds())
	}
	r.report.Observations = append(r.report.Observations, o)
	if r.Seen != nil {
		r.Seen(o)
	}
	return o.Passed
}

// maxDetail bounds what a report repeats of an error, in bytes.
const maxDetail = 1000

// told is an error as a report has it, for whoever is to mend what it names.
func told(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxDetail)], "\uFFFD")
}
