package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// move is a migration of one collection, from its request until nothing is left.
type move struct {
	*stack
	MigrationOptions
	worker *observed

	first, second *holdfast.ClientWithResponses // the operators'
	of            collection
	id, plan      string
}

// longestAct is a little more than what the API allows to what counts a tenant's
// records.
const longestAct = 3 * time.Minute

func (s *stack) newMove(o MigrationOptions, worker *observed) (*move, error) {
	m := &move{stack: s, MigrationOptions: o, worker: worker}
	patient := holdfast.WithHTTPDoer(&http.Client{Timeout: longestAct})
	for variableName, client := range map[string]**holdfast.ClientWithResponses{
		"HOLDFAST_OPERATOR_KEY": &m.first, "HOLDFAST_SECOND_OPERATOR_KEY": &m.second,
	} {
		var err error
		if *client, err = holdfast.Connect(s.operator.base, variable(o.Environ, variableName), patient); err != nil {
			return nil, fmt.Errorf("%s: %w", variableName, err)
		}
	}
	return m, nil
}

// activate takes the migration from its request to its activation: qualified,
// planned and seen by one operator, approved by the other.
func (m *move) activate(ctx context.Context) error {
	m.Note("qualifying the build")
	qualification, err := qualify(ctx)
	if err != nil {
		return err
	}
	m.Note("planning, approving and activating the migration")
	asked, err := m.first.RequestTenantMigrationWithResponse(ctx, m.tenantID, nil,
		holdfast.NewTenantMigration{Kind: holdfast.NewTenantMigrationRecordBodies, Collections: &[]string{m.of.name}})
	if err != nil {
		return err
	}
	m.id = asked.JSON201.MigrationID
	made, err := m.first.PreviewMigrationWithResponse(ctx, m.tenantID, m.id, holdfast.NewMigrationPlan{
		Qualification: qualification,
		Caps:          &holdfast.MigrationCaps{InspectedRows: 64, Records: 4, Bytes: 8 << 20, BodiesInFlight: movers}, // the largest
	})
	if err != nil {
		return err
	}
	plan := made.JSON200.Plan
	if n := plan.Observations.Total.Records; n != int64(m.Records) {
		return fmt.Errorf("the plan counts %d records of %d", n, m.Records)
	}
	m.plan = plan.PlanHash
	if err := m.baseline(ctx); err != nil {
		return err
	}
	if _, err := m.second.ApproveMigrationWithResponse(ctx, m.tenantID, m.id, holdfast.MigrationApproval{Hash: m.plan}); err != nil {
		return err
	}
	_, err = m.first.ActivateMigrationWithResponse(ctx, m.tenantID, m.id, m.named())
	return err
}

func (m *move) named() holdfast.NamedPlan { return holdfast.NamedPlan{PlanHash: m.plan} }

// baseline sees a sample of what is to be moved.
func (m *move) baseline(ctx context.Context) error {
	begun, err := m.first.BeginVerificationWithResponse(ctx, m.tenantID, m.id,
		holdfast.NewVerification{PlanHash: m.plan, Phase: holdfast.VerifyBaseline})
	if err != nil {
		return err
	}
	seen, err := holdfast.ReadVerification(ctx, m.operator.base, *begun.JSON201)
	if err != nil {
		return err
	}
	_, err = m.first.EndVerificationWithResponse(ctx, m.tenantID, m.id, begun.JSON201.Report.ReportID, seen)
	return err
}

// qualify has this program's own command qualify the build, and gives the report's
// hash.
func qualify(ctx context.Context) (hash string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	var log bytes.Buffer
	command := exec.CommandContext(ctx, self, "qualify", "--json")
	command.Stderr = &log
	answer, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("qualify: %w: %.1000s %.1000s", err, answer, log.Bytes())
	}
	var report struct {
		Hash string `json:"hash"`
	}
	if err := json.Unmarshal(answer, &report); err != nil || report.Hash == "" {
		return "", errors.Join(err, fmt.Errorf("qualify answered %.1000s", answer))
	}
	return report.Hash, nil
}
