package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var issuerView = view[holdfast.Issuer]{
	{"ID", func(i holdfast.Issuer) string { return i.ID }},
	{"ISSUER", func(i holdfast.Issuer) string { return i.Issuer }},
	{"KEYS", func(i holdfast.Issuer) string { return i.JwksURI }},
	{"AUDIENCE", func(i holdfast.Issuer) string { return i.Audience }},
	{"SCOPES", func(i holdfast.Issuer) string { return strings.Join(i.Scopes, ",") }},
	{"TOKENS LIVE", func(i holdfast.Issuer) string { return fmt.Sprint(time.Duration(i.MaxLifetimeSeconds) * time.Second) }},
	{"CREATED", func(i holdfast.Issuer) string { return when(i.CreatedAt) }},
	{"DISABLED", func(i holdfast.Issuer) string { return whenever(i.DisabledAt) }},
}

func newIssuer(r *remote) *cobra.Command {
	command := r.noun("issuer", "Trust, list and disable a tenant's own issuers of tokens",
		newIssuerCreate(r), newIssuerList(r), newIssuerDisable(r))
	command.Long = command.Short + ".\n\n" +
		"An issuer is a service of the tenant's that signs tokens (OpenID Connect, say). The API takes them for\n" +
		"that tenant, besides those that API keys buy."
	return command
}

func newIssuerCreate(r *remote) *cobra.Command {
	var want holdfast.NewIssuer
	var lifetime time.Duration
	command := &cobra.Command{
		Use:   "create TENANT",
		Short: "Trust an issuer",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			seconds := int64(lifetime / time.Second)
			want.MaxLifetimeSeconds = &seconds
			made, err := api.CreateIssuerWithResponse(ctx, args[0], nil, want)
			if err != nil {
				return answer{}, err
			}
			return issuerView.one(*made.JSON201), nil
		}),
	}
	flags := command.Flags()
	flags.StringVar(&want.Issuer, "issuer", "", "what its tokens have as iss, https://id.example.com say")
	flags.StringVar(&want.JwksURI, "jwks-uri", "", "where its public keys are")
	flags.StringVar(&want.Audience, "audience", "", "what its tokens for this API have in aud")
	flags.DurationVar(&lifetime, "max-lifetime", time.Hour, "how long its tokens may live, 1m to 24h")
	demandScopes(command, &want.Scopes, "record:read,record:write")
	for _, required := range []string{"issuer", "jwks-uri", "audience"} {
		if err := command.MarkFlagRequired(required); err != nil {
			panic(err) // they stand in the lines above
		}
	}
	return command
}

func newIssuerList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list TENANT",
		Short: "List the issuers that a tenant trusts",
		Args:  arguments("TENANT"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			all, err := everything(func(cursor *string) ([]holdfast.Issuer, *string, error) {
				page, err := api.ListIssuersWithResponse(ctx, args[0], &holdfast.ListIssuersParams{Limit: new(pageSize), Cursor: cursor})
				if err != nil {
					return nil, nil, err
				}
				return page.JSON200.Issuers, page.JSON200.NextCursor, nil
			})
			return issuerView.table(all), err
		}),
	}
}

func newIssuerDisable(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "disable TENANT ISSUER",
		Short: "Trust an issuer no more, for good",
		Args:  arguments("TENANT", "ISSUER"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			_, err := api.DisableIssuerWithResponse(ctx, args[0], args[1])
			return said("It is disabled."), err
		}),
	}
}
