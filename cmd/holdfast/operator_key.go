package main

import (
	"context"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newOperatorKey(r *remote) *cobra.Command {
	command := &cobra.Command{
		Use:   "key",
		Short: "Make, list and revoke an operator's API keys",
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newOperatorKeyCreate(r), newOperatorKeyList(r), newOperatorKeyRevoke(r))
	return command
}

func newOperatorKeyCreate(r *remote) *cobra.Command {
	var want wantedKey
	command := &cobra.Command{
		Use:   "create OPERATOR",
		Short: "Make an API key, and show it",
		Args:  arguments("OPERATOR"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			made, err := api.CreateOperatorAPIKeyWithResponse(ctx, args[0], nil, want.body())
			if err != nil {
				return answer{}, err
			}
			return createdKeyView.one(*made.JSON201), nil
		}),
	}
	want.addFlags(command)
	return command
}

func newOperatorKeyList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list OPERATOR",
		Short: "List an operator's API keys",
		Args:  arguments("OPERATOR"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			all, err := everything(func(cursor *string) ([]holdfast.APIKey, *string, error) {
				page, err := api.ListOperatorAPIKeysWithResponse(ctx, args[0], &holdfast.ListOperatorAPIKeysParams{Limit: new(pageSize), Cursor: cursor})
				if err != nil {
					return nil, nil, err
				}
				return page.JSON200.APIKeys, page.JSON200.NextCursor, nil
			})
			return keyView.table(all), err
		}),
	}
}

func newOperatorKeyRevoke(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke KEY",
		Short: "Revoke an operator's API key, by its id",
		Args:  arguments("KEY"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			_, err := api.RevokeOperatorAPIKeyWithResponse(ctx, args[0])
			return said("It is revoked."), err
		}),
	}
}
