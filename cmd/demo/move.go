package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/launch"
)

// moveBodies moves all bodies of acme's from the database into the object store,
// while its producers go on, and one of Holdfast's workers is killed in the middle.
func moveBodies(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("Bodies on the move, while everybody goes on")
	m := &move{stack: s, freight: newFreight(s.acme)}
	defer m.freight.stop()
	if err := n.steps([]step{
		{fmt.Sprintf("acme publishes %d shipments, by fifties, with their bodies in the database", shipments), func() error { return m.freight.load(ctx) }},
		{"acme asks for all of its bodies to be moved to the object store", func() error { return m.ask(ctx) }},
		{"the build is qualified: promises of storage, and small migrations there and back", func() error { return m.qualify(ctx) }},
		{"an operator has a plan made, which counts what there is and changes nothing", func() error { return m.preview(ctx) }},
	}); err != nil {
		return err
	}
	n.note("plan %s: %d records, %d bodies of %d bytes", m.plan, m.counts.Records, m.counts.LiveSections, m.counts.Bytes)
	if err := n.steps([]step{
		{"what readers see now is read through the API, and kept as the baseline", func() error { return m.verify(ctx, "baseline") }},
		{"who made the plan can't approve it; the second operator does, by its hash", func() error { return m.approve(ctx) }},
		{"the plan is activated: collection by collection, the point of no return", func() error { return m.activate(ctx) }},
		{"producers begin to change shipments, and don't stop", func() error { return m.freight.change(ctx, s) }},
		{"a run begins, and its worker is killed in the middle of it", func() error { return m.runAndKill(ctx) }},
	}); err != nil {
		return err
	}
	n.note("%d of %d records were moved by then", m.killedAt, m.counts.Records)
	if err := n.steps([]step{
		{"another worker takes the run up within half a minute, and moves the rest", func() error { return m.takeUp(ctx) }},
		{"the producers stop; every shipment is what they published last", func() error { return m.freight.settle(ctx) }},
		{"what readers see now is compared with the baseline: nothing is lost or changed", func() error { return m.verify(ctx, "recheck") }},
		{"a scrub reads and hashes every body in the object store", func() error { return m.scrub(ctx) }},
		{"the migration is closed, by a decision that is kept", func() error { return m.close(ctx) }},
		{"holdfast record check reads every row and every body, and nothing is wrong", func() error {
			_, err := operate(ctx, "record", "check", m.freight.id)
			return err
		}},
	}); err != nil {
		return err
	}
	n.note("%d changes meanwhile; %d passes moved %d records, and met %d that somebody had just changed",
		m.freight.changes, m.total.Passes, m.total.Records, m.total.Raced)
	return nil
}

// move is a migration, from its request to its close.
type move struct {
	*stack
	freight  *freight
	id, plan string
	report   string // the qualification's hash
	counts   holdfast.SectionTotals
	killedAt int64 // records that were moved by then
	total    holdfast.MigrationCounters
}

func (m *move) ask(ctx context.Context) error {
	asked, err := m.freight.client.RequestMigrationWithResponse(ctx, nil, holdfast.NewMigration{Kind: "record_bodies"})
	if err != nil {
		return err
	}
	m.id = asked.JSON201.MigrationID
	return expect(asked.JSON201.State == "requested", "it is %s", asked.JSON201.State)
}

func (m *move) qualify(ctx context.Context) error {
	output, err := operate(ctx, "qualify", "--json")
	if err != nil {
		return err
	}
	var made struct {
		Hash string `json:"hash"`
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	err = json.Unmarshal([]byte(lines[len(lines)-1]), &made)
	m.report = made.Hash
	return errors.Join(err, expect(m.report != "", "it says %s", output))
}

func (m *move) preview(ctx context.Context) error {
	made, err := m.operator.PreviewMigrationWithResponse(ctx, m.freight.id, m.id, holdfast.NewMigrationPlan{Qualification: m.report})
	if err != nil {
		return err
	}
	plan := made.JSON200.Plan
	m.plan, m.counts = plan.PlanHash, plan.Observations.Total
	return expect(m.counts.Records >= shipments, "it counts %+v", m.counts)
}

// first and second run the operators' command line as the one or the other.
func (m *move) first(ctx context.Context, args ...string) (string, error) {
	return m.as(ctx, "HOLDFAST_OPERATOR_KEY", args...)
}

func (m *move) second(ctx context.Context, args ...string) (string, error) {
	return m.as(ctx, "HOLDFAST_SECOND_OPERATOR_KEY", args...)
}

func (m *move) as(ctx context.Context, key string, args ...string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	act, rest := args[0], args[1:]
	args = append([]string{"migration", act, m.freight.id, m.id}, rest...)
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "holdfast"), args...)
	command.Env = append(os.Environ(), "HOLDFAST_URL="+m.url(), "HOLDFAST_API_KEY="+os.Getenv(key))
	output, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("holdfast %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return string(output), err
}

func (m *move) verify(ctx context.Context, phase string) error {
	output, err := m.first(ctx, "verify", "--phase", phase, "--execute")
	return errors.Join(err, expect(strings.Contains(output, "passed"), "it says %s", output))
}

func (m *move) approve(ctx context.Context) error {
	_, err := m.operator.ApproveMigrationWithResponse(ctx, m.freight.id, m.id, holdfast.MigrationApproval{Hash: m.plan})
	if err := expectCode(err, http.StatusForbidden, "approver_is_involved"); err != nil {
		return err
	}
	_, err = m.second(ctx, "approve", "--hash", m.plan, "--execute")
	return err
}

func (m *move) activate(ctx context.Context) error {
	output, err := m.first(ctx, "activate", "--plan", m.plan, "--execute")
	return errors.Join(err, expect(strings.Contains(output, "point of no return"), "it says %s", output))
}

// runAndKill kills the worker with SIGKILL when it has moved a third.
func (m *move) runAndKill(ctx context.Context) error {
	if _, err := m.first(ctx, "run", "--execute"); err != nil {
		return err
	}
	for m.killedAt < m.counts.Records/3 {
		now, err := m.stands(ctx)
		if err != nil {
			return err
		}
		if err := expect(now.Migration.State == "active", "it is %s", now.Migration.State); err != nil {
			return err
		}
		m.killedAt = now.Progress.Total.Records
	}
	m.worker.Kill()
	m.worker = nil
	return nil
}

func (m *move) stands(ctx context.Context) (holdfast.MigrationStatus, error) {
	now, err := m.freight.client.GetMigrationWithResponse(ctx, m.id)
	if err != nil {
		return holdfast.MigrationStatus{}, err
	}
	return *now.JSON200, nil
}

// takeUp starts another worker, and waits for the run to end.
func (m *move) takeUp(ctx context.Context) (err error) {
	if m.worker, err = launch.Start(ctx, []string{"worker"}, m.settings, m.log); err != nil {
		return err
	}
	for {
		now, err := m.stands(ctx)
		if err != nil {
			return err
		}
		m.total = now.Progress.Total
		switch now.Migration.State {
		case "drained":
			return expect(now.Progress.Deferred == 0 && now.Progress.Left.Sections == 0, "something is left: %+v", now.Progress)
		case "active":
		default:
			return fmt.Errorf("it is %s: %+v", now.Migration.State, now.Migration.Stop)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *move) scrub(ctx context.Context) error {
	output, err := m.first(ctx, "scrub", "--watch", "--every", "200ms", "--execute")
	return errors.Join(err, expect(strings.Contains(output, "covered every body"), "it says %s", output))
}

func (m *move) close(ctx context.Context) error {
	_, err := m.first(ctx, "close", "--plan", m.plan, "--decision", "the recheck has passed, and so has the scrub", "--execute")
	if err != nil {
		return err
	}
	now, err := m.stands(ctx)
	return errors.Join(err, expect(now.Migration.State == "closed", "it is %s", now.Migration.State))
}
