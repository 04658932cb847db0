package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var driftView = view[holdfast.PlanDrift]{
	{"FIELD", func(d holdfast.PlanDrift) string { return d.Field }},
	{"IN THE PLAN", func(d holdfast.PlanDrift) string { return d.Was }},
	{"NOW", func(d holdfast.PlanDrift) string { return d.Is }},
}

func newMigrationDrift(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "drift TENANT MIGRATION",
		Short: "Hold a migration's plan against what is so now, field by field",
		Long: "Hold a migration's plan against what is so now, field by field. A plan that has drifted is refused\n" +
			"when it is approved, activated or run. The exit code is 3 when something differs.",
		Args: arguments("TENANT", "MIGRATION"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			drift, err := driftOf(ctx, api, args[0], args[1])
			if err != nil {
				return answer{}, err
			}
			told := driftView.table(drift)
			told.differs = len(drift) > 0
			if !told.differs {
				told.write = said("Nothing differs: the plan is as it would be made now.").write
			}
			return told, nil
		}),
	}
}

func driftOf(ctx context.Context, api caller, tenant, id string) ([]holdfast.PlanDrift, error) {
	held, err := api.GetMigrationDriftWithResponse(ctx, tenant, id)
	switch {
	case holdfast.IsCode(err, "plan_not_found"):
		return nil, errors.New(standingPlan.missing)
	case err != nil:
		return nil, err
	}
	return held.JSON200.Drift, nil
}

// driftLines say what differs, a line a field.
func driftLines(drift []holdfast.PlanDrift) (lines []string) {
	for _, d := range drift {
		lines = append(lines, fmt.Sprintf("%s: %s in the plan, %s now", d.Field, d.Was, d.Is))
	}
	return lines
}
