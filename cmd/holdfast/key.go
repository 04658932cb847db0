package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// keyView is of operators' keys too. A key's text is shown once, when it is made.
var keyView = view[holdfast.APIKey]{
	{"ID", func(k holdfast.APIKey) string { return k.ID }},
	{"LABEL", func(k holdfast.APIKey) string { return k.Label }},
	{"CREATED", func(k holdfast.APIKey) string { return when(k.CreatedAt) }},
	{"EXPIRES", func(k holdfast.APIKey) string { return whenever(k.ExpiresAt) }},
	{"REVOKED", func(k holdfast.APIKey) string { return whenever(k.RevokedAt) }},
}

var createdKeyView = view[holdfast.CreatedAPIKey]{
	{"ID", func(k holdfast.CreatedAPIKey) string { return k.ID }},
	{"LABEL", func(k holdfast.CreatedAPIKey) string { return k.Label }},
	{"EXPIRES", func(k holdfast.CreatedAPIKey) string { return whenever(k.ExpiresAt) }},
	{"KEY (shown once)", func(k holdfast.CreatedAPIKey) string { return k.APIKey }},
}

func newKey(r *remote) *cobra.Command {
	return r.noun("key", "Make, list and revoke the API keys of a tenant's principals",
		newKeyCreate(r), newKeyList(r), newKeyRevoke(r))
}

// wantedKey are the flags that say what a new key is like.
type wantedKey struct {
	label   string
	expires time.Time
	given   func(flag string) bool
}

func (w *wantedKey) addFlags(command *cobra.Command) {
	command.Flags().StringVar(&w.label, "label", "", "for people")
	w.given = command.Flags().Changed
	command.Flags().TimeVar(&w.expires, "expires-at", time.Time{}, []string{time.RFC3339}, "when it stops to work, 2027-01-31T00:00:00Z say; never by default")
}

func (w *wantedKey) body() holdfast.NewAPIKey {
	body := holdfast.NewAPIKey{Label: &w.label}
	if w.given("expires-at") {
		body.ExpiresAt = &w.expires
	}
	return body
}

func newKeyCreate(r *remote) *cobra.Command {
	var want wantedKey
	command := &cobra.Command{
		Use:   "create TENANT PRINCIPAL",
		Short: "Make an API key, and show it",
		Args:  arguments("TENANT", "PRINCIPAL"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			made, err := api.CreateAPIKeyWithResponse(ctx, args[0], args[1], nil, want.body())
			if err != nil {
				return answer{}, err
			}
			return createdKeyView.one(*made.JSON201), nil
		}),
	}
	want.addFlags(command)
	return command
}

func newKeyList(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list TENANT PRINCIPAL",
		Short: "List a principal's API keys",
		Args:  arguments("TENANT", "PRINCIPAL"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			all, err := everything(func(cursor *string) ([]holdfast.APIKey, *string, error) {
				page, err := api.ListAPIKeysWithResponse(ctx, args[0], args[1], &holdfast.ListAPIKeysParams{Limit: new(pageSize), Cursor: cursor})
				if err != nil {
					return nil, nil, err
				}
				return page.JSON200.APIKeys, page.JSON200.NextCursor, nil
			})
			return keyView.table(all), err
		}),
	}
}

func newKeyRevoke(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke TENANT KEY",
		Short: "Revoke an API key, by its id",
		Args:  arguments("TENANT", "KEY"),
		RunE: r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
			_, err := api.RevokeAPIKeyWithResponse(ctx, args[0], args[1])
			return said("It is revoked."), err
		}),
	}
}
