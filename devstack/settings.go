package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/devstack/internal/objects"
)

// numbers is how many numbers Holdfast spreads over its databases.
const numbers = 64

// settings is what the stack adds to the command's environment, in order.
type settings []setting

type setting struct{ name, value string }

// settings are the running stack's settings. The databases' addresses name no
// user: each process connects as the role that its work calls for.
func (s *stack) settings() settings {
	var urls, placement []string
	for n, span := range spans(s.secrets.Databases) {
		name := dataName(n + 1)
		urls = append(urls, name+"="+s.database.URL(dataDatabase(n+1)))
		placement = append(placement, name+"="+span.String())
	}
	return settings{
		{"HOLDFAST_ENVIRONMENT", "development"},
		{"HOLDFAST_CONTROL_URL", s.database.URL(controlDatabase)},
		{"HOLDFAST_DATA_URLS", strings.Join(urls, " ")},
		{"HOLDFAST_PLACEMENT", strings.Join(placement, " ")},
		{"HOLDFAST_OWNER_PASSWORD", s.secrets.OwnerPassword},
		{"HOLDFAST_API_PASSWORD", s.secrets.APIPassword},
		{"HOLDFAST_WORKER_PASSWORD", s.secrets.WorkerPassword},
		{"HOLDFAST_SERVER_KEYS", s.secrets.ServerKey},
		{"HOLDFAST_OPERATOR_KEY", s.secrets.OperatorKey},
		{"HOLDFAST_SECOND_OPERATOR_KEY", s.secrets.SecondOperatorKey},
		{"HOLDFAST_BODIES_ENDPOINT", s.objects.Endpoint()},
		{"HOLDFAST_BODIES_BUCKET", bucket},
		{"AWS_ACCESS_KEY_ID", s.secrets.AccessKey},
		{"AWS_SECRET_ACCESS_KEY", s.secrets.SecretAccessKey},
		{"AWS_REGION", objects.Region},
		// For tests, which make databases and roles of their own, and may need
		// another server.
		{"HOLDFAST_TEST_ADMIN_URL", s.database.AdminURL()},
		{"HOLDFAST_TEST_DEVSTACK", s.program},
	}
}

// environment is the caller's environment with the settings in it. The
// caller's AWS settings, its profile or session say, would be used with the
// stack's keys or instead of them, so they go.
func (s settings) environment(caller []string) []string {
	env := slices.DeleteFunc(slices.Clone(caller), func(entry string) bool {
		return strings.HasPrefix(entry, "AWS_")
	})
	for _, setting := range s {
		env = append(env, setting.name+"="+setting.value)
	}
	return env
}

// span is a range of numbers, both ends in it.
type span struct{ first, last int }

func (s span) String() string {
	if s.first == s.last {
		return fmt.Sprint(s.first)
	}
	return fmt.Sprintf("%d-%d", s.first, s.last)
}

// spans spreads the numbers over so many databases, as evenly as can be: the
// first ones get one number more when it doesn't come out even.
func spans(databases int) []span {
	all := make([]span, databases)
	first := 0
	for i := range all {
		size := numbers / databases
		if i < numbers%databases {
			size++
		}
		all[i] = span{first, first + size - 1}
		first += size
	}
	return all
}
