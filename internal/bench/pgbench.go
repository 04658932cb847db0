package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// pgbench runs the script with that many clients for a time.
func (s *stack) pgbench(script string, clients int) round {
	return func(ctx context.Context, length time.Duration) (Result, error) {
		program, err := findPgbench()
		if err != nil {
			return Result{}, err
		}
		file := filepath.Join(os.TempDir(), fmt.Sprintf("holdfast-bench-%d.sql", os.Getpid()))
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			return Result{}, err
		}
		defer os.Remove(file)
		command := exec.CommandContext(ctx, program, "--no-vacuum", "--protocol=prepared",
			"--client="+strconv.Itoa(clients), "--jobs=2", "--time="+strconv.Itoa(int(length.Seconds())), "--file="+file, s.config.DataURLs[0].URL)
		command.Env = append(os.Environ(), "PGUSER="+postgres.RoleOwner, "PGPASSWORD="+s.config.OwnerPassword.Reveal())
		output, err := command.CombinedOutput()
		if err != nil {
			return Result{}, fmt.Errorf("pgbench: %w: %s", err, output)
		}
		return readPgbench(output)
	}
}

var (
	pgbenchCount = regexp.MustCompile(`transactions actually processed: (\d+)`)
	pgbenchRate  = regexp.MustCompile(`tps = ([0-9.]+) `)
)

func readPgbench(output []byte) (Result, error) {
	count, rate := pgbenchCount.FindSubmatch(output), pgbenchRate.FindSubmatch(output)
	if count != nil && string(count[1]) == "0" {
		return Result{}, errors.New("pgbench made no transaction: its clients were still connecting when the time was over")
	}
	if count == nil || rate == nil {
		return Result{}, fmt.Errorf("pgbench said what isn't understood: %s", output)
	}
	n, _ := strconv.Atoi(string(count[1]))
	tps, err := strconv.ParseFloat(string(rate[1]), 64)
	if err != nil {
		return Result{}, err
	}
	return Result{Operations: n, Elapsed: time.Duration(float64(n) / tps * float64(time.Second))}, nil
}

// findPgbench looks on the path and where Debian's server packages put it.
func findPgbench() (string, error) {
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(found) == 0 {
		return "", errors.New("pgbench is missing: apt-get install postgresql")
	}
	return found[len(found)-1], nil
}
