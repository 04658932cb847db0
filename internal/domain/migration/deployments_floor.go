package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// demandFormats refuses while a process is alive that doesn't know a format. One
// that comes later, or has been silent, is refused by the floor in each data
// database: this only keeps an activation from cutting off one that serves.
//
// Errors: conflict processes_too_old; unavailable.
func (s *Service) demandFormats(ctx context.Context, format int16) error {
	live, err := s.Deployments(ctx)
	if err != nil {
		return err
	}
	return errOldProcesses(live, format)
}

// errOldProcesses is nil when all know the format.
func errOldProcesses(live []Process, format int16) error {
	old := 0
	var builds []string
	for _, p := range live {
		if slices.Contains(p.Formats, format) {
			continue
		}
		old++
		if !slices.Contains(builds, p.Build) {
			builds = append(builds, p.Build)
		}
	}
	if old == 0 {
		return nil
	}
	slices.Sort(builds)
	return domain.Conflict("processes_too_old", fmt.Sprintf(
		"Of the processes that are alive, %d can't read and write format %d: those of %s. Replace them, wait a minute, and ask again.",
		old, format, strings.Join(builds, ", ")))
}
