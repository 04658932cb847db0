package main

import (
	"context"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newOperator(r *remote) *cobra.Command {
	return r.noun("operator", "Make, list and disable operators, and their API keys",
		newOperatorCreate(r), newOperatorList(r), newOperatorDisable(r), newOperatorKey(r))
}

func newOperatorCreate(r *remote) *cobra.Command {
	var scopes []string
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Make an operator, who can call with a key",
		Args:  arguments("NAME"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			made, err := api.CreateOperatorWithResponse(ctx, nil, holdfast.NewPrincipal{Name: args[0], Scopes: scopes})
			if err != nil {
				return answer{}, err
			}
			return principalView.one(*made.JSON201), nil
		}),
	}
	demandScopes(command, &scopes, "operator:read,operator:tenants")
	return command
}

func newOperatorList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the operators",
		Args:  arguments(),
		RunE: r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
			all, err := everything(func(cursor *string) ([]holdfast.Principal, *string, error) {
				page, err := api.ListOperatorsWithResponse(ctx, &holdfast.ListOperatorsParams{Limit: new(pageSize), Cursor: cursor})
				if err != nil {
					return nil, nil, err
				}
				return page.JSON200.Operators, page.JSON200.NextCursor, nil
			})
			return principalView.table(all), err
		}),
	}
}

func newOperatorDisable(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "disable OPERATOR",
		Short: "Disable an operator, for good",
		Args:  arguments("OPERATOR"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			_, err := api.DisableOperatorWithResponse(ctx, args[0])
			return said("The operator is disabled."), err
		}),
	}
}
