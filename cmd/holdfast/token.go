package main

import (
	"context"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func newToken(r *remote) *cobra.Command {
	var scopes []string
	command := r.noun("token", "Buy a token with the API key, and print it")
	command.Long = "Buy a token with the API key, and print it and nothing else:\n\n" +
		"  curl -H \"Authorization: Bearer $(holdfast token)\" …\n\n" +
		"With --json it comes with its scopes and the seconds that it lives.\n" +
		"The key may be anybody's: a tenant's principal's too."
	command.RunE = r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
		token, err := holdfast.BuyToken(ctx, api.url, api.key, holdfast.WithScopes(scopes...))
		shown := said(token.AccessToken)
		shown.value = token
		return shown, err
	})
	command.Flags().StringSliceVar(&scopes, "scopes", nil, "what it may do; all that the key's owner may by default")
	return command
}
