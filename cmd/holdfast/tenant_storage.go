package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var storageView = view[holdfast.Storage]{
	{"NEW COLLECTIONS", func(s holdfast.Storage) string { return storageOf(s.RecordFormat) }},
}

// storageOf says what a record format is.
func storageOf(format int16) string {
	switch format {
	case 1:
		return "format 1, bodies in the database"
	case 2:
		return "format 2, bodies in the object store"
	default:
		return fmt.Sprint("format ", format)
	}
}

const pointOfNoReturn = "With format 2 they begin with their bodies in the object store. There is no way back: the tenant's new\n" +
	"collections never begin at format 1 again, and a server or worker that knows format 1 alone is refused\n" +
	"from then on, for every tenant. Collections that are there already stay as they are.\n"

func newTenantStorage(r *remote) *cobra.Command {
	format := oneOf{words: []string{"1", "2"}}
	var yes bool
	command := &cobra.Command{
		Use:   "storage TENANT",
		Short: "Show, or say, where a tenant's new collections keep their bodies",
		Long: "Show where a tenant's new collections keep their bodies: in the database (format 1) or in the object\n" +
			"store (format 2). With --format, say so.\n\n" +
			pointOfNoReturn + "So it asks first on a terminal, and elsewhere demands --yes.\n\n" +
			"After an error it can be repeated, and finishes what it began.",
		Args: arguments("TENANT"),
	}
	command.RunE = r.call(func(ctx context.Context, api caller, args []string) (answer, error) {
		if format.value == "" {
			storage, err := api.GetStorageWithResponse(ctx, args[0])
			if err != nil {
				return answer{}, err
			}
			return storageView.one(*storage.JSON200), nil
		}
		want := holdfast.SetStorage{RecordFormat: 1}
		if format.value == "2" {
			want.RecordFormat = 2
			if err := agreeToObjects(ctx, command, api, args[0], yes); err != nil {
				return answer{}, err
			}
		}
		tenant, err := api.SetStorageWithResponse(ctx, args[0], want)
		if err != nil {
			return answer{}, err
		}
		return tenantView.one(*tenant.JSON200), nil
	})
	command.Flags().Var(&format, "format", "what new collections begin at from now on")
	command.Flags().BoolVar(&yes, "yes", false, "don't ask")
	return command
}

// agreeToObjects says what format 2 means and asks, unless the tenant has it
// already.
func agreeToObjects(ctx context.Context, command *cobra.Command, api caller, id string, yes bool) error {
	shown, err := api.GetTenantWithResponse(ctx, id)
	if err != nil {
		return err
	}
	tenant := *shown.JSON200
	if tenant.RecordFormat == 2 {
		return nil
	}
	fmt.Fprintf(command.ErrOrStderr(), "Tenant %s: new collections begin at %s.\n%s", tenant.Name, storageOf(tenant.RecordFormat), pointOfNoReturn)
	if err := goAhead(command, yes, "Begin them at format 2?", "Say --yes to do it all the same"); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return nil
}
