package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Superuser is the name of the cluster's first role.
const Superuser = "postgres"

// HasData tells whether a server that was started in folder has left its data
// there.
func HasData(folder string) bool {
	_, err := os.Stat(Config{Folder: folder}.data())
	return err == nil
}

// prepare makes the cluster at the config's data folder unless it is there. A
// crash on the way leaves a half-made one under another name, and the next
// call starts over.
func (c Config) prepare() error {
	switch major, err := clusterVersion(c.data()); {
	case errors.Is(err, fs.ErrNotExist):
		return c.initialize()
	case err != nil:
		return err
	case major != c.Binaries.Major:
		return fmt.Errorf("%s holds data of PostgreSQL %d, and the one found, in %s, is %d: remove that folder to start anew",
			c.data(), major, c.Binaries.Dir, c.Binaries.Major)
	}
	return nil
}

// initialize makes a cluster in which every connection needs a password.
func (c Config) initialize() error {
	unfinished := c.data() + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	if err := os.Mkdir(unfinished, 0o700); err != nil {
		return err
	}
	if err := c.Account.give(unfinished); err != nil {
		return err
	}
	// The password travels in a file, for arguments show in a list of processes.
	password := filepath.Join(c.Folder, "password")
	if err := os.WriteFile(password, []byte(c.Password), 0o600); err != nil {
		return err
	}
	defer os.Remove(password)
	if err := c.Account.give(password); err != nil {
		return err
	}
	args := []string{
		"--pgdata=" + unfinished,
		"--username=" + Superuser,
		"--pwfile=" + password,
		"--auth=scram-sha-256",
		"--encoding=UTF8",
		"--no-locale",
	}
	if !c.Durable {
		args = append(args, "--no-sync")
	}
	if out, err := c.Account.command("/", c.Binaries.program("initdb"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return os.Rename(unfinished, c.data())
}

// clusterVersion is the major version of the cluster in dir.
func clusterVersion(dir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dir, "PG_VERSION"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
