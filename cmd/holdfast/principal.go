package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// principalView is of operators too.
var principalView = view[holdfast.Principal]{
	{"ID", func(p holdfast.Principal) string { return p.ID }},
	{"NAME", func(p holdfast.Principal) string { return p.Name }},
	{"SCOPES", func(p holdfast.Principal) string { return strings.Join(p.Scopes, ",") }},
	{"CREATED", func(p holdfast.Principal) string { return when(p.CreatedAt) }},
	{"DISABLED", func(p holdfast.Principal) string { return whenever(p.DisabledAt) }},
}

func newPrincipal(r *remote) *cobra.Command {
	return r.noun("principal", "Make, list and disable a tenant's principals, who call",
		newPrincipalCreate(r), newPrincipalList(r), newPrincipalDisable(r))
}

func newPrincipalCreate(r *remote) *cobra.Command {
	var scopes []string
	command := &cobra.Command{
		Use:   "create TENANT NAME",
		Short: "Make a principal",
		Args:  arguments("TENANT", "NAME"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			made, err := api.CreatePrincipalWithResponse(ctx, args[0], nil, holdfast.NewPrincipal{Name: args[1], Scopes: scopes})
			if err != nil {
				return answer{}, err
			}
			return principalView.one(*made.JSON201), nil
		}),
	}
	demandScopes(command, &scopes, "identity:read,identity:write")
	return command
}

// demandScopes gives a command the flag that says what a new caller may do.
func demandScopes(command *cobra.Command, scopes *[]string, example string) {
	command.Flags().StringSliceVar(scopes, "scopes", nil, "what it may do at most, "+example+" say")
	if err := command.MarkFlagRequired("scopes"); err != nil {
		panic(err) // it stands in the line above
	}
}

func newPrincipalList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list TENANT",
		Short: "List a tenant's principals",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			all, err := everything(func(cursor *string) ([]holdfast.Principal, *string, error) {
				page, err := api.ListPrincipalsWithResponse(ctx, args[0], &holdfast.ListPrincipalsParams{Limit: new(pageSize), Cursor: cursor})
				if err != nil {
					return nil, nil, err
				}
				return page.JSON200.Principals, page.JSON200.NextCursor, nil
			})
			return principalView.table(all), err
		}),
	}
}

func newPrincipalDisable(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "disable TENANT PRINCIPAL",
		Short: "Disable a principal, for good",
		Args:  arguments("TENANT", "PRINCIPAL"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			_, err := api.DisablePrincipalWithResponse(ctx, args[0], args[1])
			return said("It is disabled."), err
		}),
	}
}
