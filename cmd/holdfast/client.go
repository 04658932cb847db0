package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var clientView = view[holdfast.PublicClient]{
	{"ID", func(c holdfast.PublicClient) string { return c.ID }},
	{"NAME", func(c holdfast.PublicClient) string { return c.Name }},
	{"SCOPES", func(c holdfast.PublicClient) string { return strings.Join(c.Scopes, ",") }},
	{"VERIFICATION URI", func(c holdfast.PublicClient) string { return c.VerificationURI }},
	{"CREATED", func(c holdfast.PublicClient) string { return when(c.CreatedAt) }},
	{"DISABLED", func(c holdfast.PublicClient) string { return whenever(c.DisabledAt) }},
}

func newClient(r *remote) *cobra.Command {
	command := r.noun("client", "Make, list and disable a tenant's public clients, whose devices log in",
		newClientCreate(r), newClientList(r), newClientDisable(r))
	command.Long = command.Short + ".\n\n" +
		"A public client is an app on people's devices: it has an id, hfc_…, and can keep no secret."
	return command
}

func newClientCreate(r *remote) *cobra.Command {
	var want holdfast.NewPublicClient
	var scopes []string
	command := &cobra.Command{
		Use:   "create TENANT NAME",
		Short: "Make a public client",
		Args:  arguments("TENANT", "NAME"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			want.Name, want.Scopes = args[1], &scopes
			made, err := api.CreateClientWithResponse(ctx, args[0], nil, want)
			if err != nil {
				return answer{}, err
			}
			return clientView.one(*made.JSON201), nil
		}),
	}
	command.Flags().StringSliceVar(&scopes, "scopes", []string{}, "what its devices may be granted at most, in the tenant's own words; nothing by default")
	command.Flags().StringVar(&want.VerificationURI, "verification-uri", "",
		"where users take their codes to, https://example.com/device say")
	if err := command.MarkFlagRequired("verification-uri"); err != nil {
		panic(err) // it stands in the line above
	}
	return command
}

func newClientList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list TENANT",
		Short: "List a tenant's public clients",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			all, err := everything(func(cursor *string) ([]holdfast.PublicClient, *string, error) {
				page, err := api.ListClientsWithResponse(ctx, args[0], &holdfast.ListClientsParams{Limit: new(pageSize), Cursor: cursor})
				if err != nil {
					return nil, nil, err
				}
				return page.JSON200.Clients, page.JSON200.NextCursor, nil
			})
			return clientView.table(all), err
		}),
	}
}

func newClientDisable(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "disable TENANT CLIENT",
		Short: "Disable a public client, for good; its devices get no more tokens",
		Args:  arguments("TENANT", "CLIENT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			_, err := api.DisableClientWithResponse(ctx, args[0], args[1])
			return said("It is disabled."), err
		}),
	}
}
