package main

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

// remote is what the commands over the API share.
type remote struct {
	environ []string
	asJSON  bool // --json
}

// noun is a group of commands on one kind of thing.
func (r *remote) noun(use, short string, commands ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.PersistentFlags().BoolVar(&r.asJSON, "json", false, "print JSON, as the API gives it; a list is one array")
	command.AddCommand(commands...)
	return command
}

// caller is how a command calls the API: with a client, or with the key itself.
type caller struct {
	*holdfast.ClientWithResponses
	url, key string
}

// connect makes a caller with the key of the environment.
func (r *remote) connect() (caller, error) {
	c, err := config.Load(config.CommandLine, r.environ)
	if err != nil {
		return caller{}, exitError{exitUsage, fmt.Errorf("the configuration is wrong:\n%w", err)}
	}
	api := caller{url: c.URL, key: c.APIKey.Reveal()}
	api.ClientWithResponses, err = holdfast.Connect(api.url, api.key)
	return api, err
}

// call makes what a command runs: it asks the API, and prints what it is given.
func (r *remote) call(ask func(ctx context.Context, api caller, args []string) (answer, error)) func(*cobra.Command, []string) error {
	return func(command *cobra.Command, args []string) error {
		api, err := r.connect()
		if err != nil {
			return err
		}
		given, err := ask(command.Context(), api, args)
		if err != nil {
			return exitError{codeOf(err), plain(api.url, err)}
		}
		if err := given.print(command.OutOrStdout(), r.asJSON); err != nil {
			return err
		}
		switch {
		case given.differs:
			return exitError{code: exitDiffers}
		case given.later:
			return exitError{code: exitLater}
		}
		return nil
	}
}

// arguments takes one argument of each name, in this order. All but NAME and FILE
// are ids or hashes: what isn't one must not become a part of a path.
func arguments(names ...string) cobra.PositionalArgs {
	return func(command *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return fmt.Errorf("usage: %s", command.UseLine())
		}
		for i, name := range names {
			switch {
			case isA(name, args[i]):
			case name == "HASH":
				return fmt.Errorf("%s %q is not the hash of anything: 64 hexadecimal digits", name, args[i])
			default:
				return fmt.Errorf("%s %q is not an id", name, args[i])
			}
		}
		return nil
	}
}

func isA(name, argument string) bool {
	switch name {
	case "NAME", "FILE":
		return true
	case "WORLD":
		return lease.IsWorldID(argument)
	case "CLIENT":
		_, ok := tenancy.ParseClientIDText(argument)
		return ok
	case "HASH":
		return new(migration.Hash).UnmarshalText([]byte(argument)) == nil
	case "DEFERRED":
		_, err := base64.RawURLEncoding.DecodeString(argument)
		return err == nil && argument != ""
	default:
		_, err := domain.ParseID[struct{}](argument)
		return err == nil
	}
}

// everything walks the pages of a list to its end.
func everything[T any](page func(cursor *string) (things []T, next *string, err error)) ([]T, error) {
	all := []T{}
	for cursor := (*string)(nil); ; {
		things, next, err := page(cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, things...)
		if next == nil {
			return all, nil
		}
		cursor = next
	}
}

// pageSize is the most that a page has.
const pageSize int64 = 200
