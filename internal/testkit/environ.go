package testkit

import (
	"strings"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// Environ is the installation as the processes' environment has it, for tests
// of whole commands.
func (in *Installation) Environ() []string {
	settings := in.Settings(postgres.RoleOwner)
	numbers := map[string][]int{}
	for n, name := range settings.Placement {
		numbers[name] = append(numbers[name], n)
	}
	var urls, placement []string
	for _, location := range settings.Data {
		urls = append(urls, location.Name+"="+location.URL)
		if placed := numbers[location.Name]; len(placed) > 0 {
			placement = append(placement, location.Name+"="+postgres.FormatNumbers(placed))
		}
	}
	return []string{
		"HOLDFAST_ENVIRONMENT=development",
		"HOLDFAST_CONTROL_URL=" + settings.Control,
		"HOLDFAST_DATA_URLS=" + strings.Join(urls, " "),
		"HOLDFAST_PLACEMENT=" + strings.Join(placement, " "),
		"HOLDFAST_OWNER_PASSWORD=" + settings.Password,
		"HOLDFAST_API_PASSWORD=" + in.server.password(postgres.RoleAPI),
		"HOLDFAST_WORKER_PASSWORD=" + in.server.password(postgres.RoleWorker),
	}
}
