package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

var processView = view[holdfast.Process]{
	{"PROCESS", func(p holdfast.Process) string { return p.ProcessID }},
	{"KIND", func(p holdfast.Process) string { return p.Kind }},
	{"BUILD", func(p holdfast.Process) string { return p.Build }},
	{"FORMATS", func(p holdfast.Process) string { return formatsOf(p.RecordFormats) }},
	{"STARTED", func(p holdfast.Process) string { return when(p.StartedAt) }},
	{"REPORTED", func(p holdfast.Process) string { return when(p.ReportedAt) }},
}

var runtimeView = view[holdfast.Runtime]{
	{"THE API THAT ANSWERS", func(r holdfast.Runtime) string { return "build " + r.Build }},
	{"DATABASES", func(r holdfast.Runtime) string { return databasesOf(r.Databases) }},
	{"OBJECT STORE", func(r holdfast.Runtime) string { return storeOf(r.Store) }},
}

func formatsOf(formats []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(formats), " ", ","), "[]")
}

func newDeployments(r *remote) *cobra.Command {
	command := r.noun("deployments", "Show the processes that are alive, their builds and the formats that they know")
	command.Long = command.Short + ".\n\n" +
		"A process reports itself every ten seconds, and is alive for a minute from its last report on. It takes\n" +
		"the scope operator:read."
	command.RunE = r.call(func(ctx context.Context, api caller, _ []string) (answer, error) {
		got, err := api.ListDeploymentsWithResponse(ctx)
		if err != nil {
			return answer{}, err
		}
		d := *got.JSON200
		parts := []answer{processView.table(d.Processes), runtimeView.one(d.Runtime)}
		return answer{value: d, write: func(out io.Writer) error { return writeParts(out, parts) }}, nil
	})
	return command
}
