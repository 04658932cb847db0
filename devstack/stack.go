package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/devstack/internal/folder"
	"github.com/holdfast-dev/holdfast/devstack/internal/objects"
	"github.com/holdfast-dev/holdfast/devstack/internal/postgres"
	"github.com/holdfast-dev/holdfast/devstack/internal/process"
)

// bucket is the bucket for bodies.
const bucket = "holdfast-bodies"

// stack is the running servers with what they need. Each part is nil until it
// has started.
type stack struct {
	program  string // this one's path
	folder   *folder.Folder
	keeper   *process.Keeper
	secrets  secrets
	database *postgres.Server
	objects  *objects.Server
	stopping chan struct{} // closed when the servers are meant to end
}

// newStack starts the servers. caller is the folder that devstack was started
// in. When it fails, nothing is left.
func newStack(ctx context.Context, starter *process.Starter, caller string, o options) (*stack, error) {
	account, err := postgres.ServerAccount()
	if err != nil {
		return nil, err
	}
	s := &stack{stopping: make(chan struct{})}
	if err := s.start(ctx, starter, account, caller, o); err != nil {
		if stopErr := s.stop(); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
		return nil, err
	}
	return s, nil
}

// openFolder takes over the folder to keep, or makes a fresh one: in memory if
// there is room and nothing in it need survive a power cut.
func openFolder(account postgres.Account, caller string, o options) (*folder.Folder, error) {
	if o.keep != "" {
		return folder.Keep(absolute(caller, o.keep))
	}
	usable := func(dir string) bool { return account.Reaches(dir) && objects.Fit(dir) == nil }
	if base, ok := folder.Memory(); ok && !o.durable && usable(base) {
		return folder.Fresh(base)
	}
	return folder.Fresh(folder.Base(caller, usable))
}

func (s *stack) start(ctx context.Context, starter *process.Starter, account postgres.Account, caller string, o options) error {
	var err error
	if s.program, err = os.Executable(); err != nil {
		return err
	}
	if s.folder, err = openFolder(account, caller, o); err != nil {
		return err
	}
	if s.keeper, err = process.NewKeeper(starter, s.folder.Lock()); err != nil {
		return err
	}
	if !s.folder.Kept {
		if err := s.keeper.Remove(s.folder.Path); err != nil {
			return err
		}
	}
	if s.secrets, err = loadSecrets(s.folder.Path, o.databases); err != nil {
		return err
	}
	if err := s.startDatabase(ctx, account, o.durable); err != nil {
		return err
	}
	if err := s.secrets.prepare(ctx, s.database.AdminURL()); err != nil {
		return err
	}
	s.objects, err = objects.Start(ctx, s.folder.Path, bucket, s.secrets.objectKeys())
	return err
}

func (s *stack) startDatabase(ctx context.Context, account postgres.Account, durable bool) error {
	place, err := s.databaseFolder(account)
	if err != nil {
		return err
	}
	if !postgres.HasData(place) {
		// Rows and bodies are kept or lost together.
		if err := os.RemoveAll(objects.Root(s.folder.Path)); err != nil {
			return err
		}
	}
	binaries, ok := postgres.FindBinaries(account)
	if !ok {
		if binaries, err = postgres.DownloadBinaries(ctx, account, postgres.Repository, filepath.Join(place, "programs")); err != nil {
			return noBinaries(err)
		}
	}
	s.database, err = postgres.Start(ctx, s.keeper, postgres.Config{
		Binaries: binaries,
		Account:  account,
		Folder:   place,
		Password: s.secrets.SuperuserPassword,
		Durable:  durable,
		Kept:     s.folder.Kept,
	})
	if err != nil {
		return err
	}
	go s.watch()
	return nil
}

// databaseFolder is the folder for the database's files: in the stack's own
// where the server's account can come there, else a temporary one, which a kept
// stack finds again by its id.
func (s *stack) databaseFolder(account postgres.Account) (string, error) {
	if !account.Reaches(s.folder.Path) {
		return folder.Temporary("holdfast-kept-" + s.secrets.ID)
	}
	place := filepath.Join(s.folder.Path, "postgres")
	return place, folder.MakeTraversable(place)
}

// watch says so when the database ends and wasn't meant to. The command then
// fails in its own way.
func (s *stack) watch() {
	select {
	case <-s.stopping:
	case <-s.database.Ended():
		log.Print("PostgreSQL has ended, and wasn't asked to")
	}
}

// stop ends what has started, in reverse.
func (s *stack) stop() error {
	close(s.stopping)
	var errs []error
	if s.objects != nil {
		errs = append(errs, s.objects.Stop())
	}
	if s.database != nil {
		errs = append(errs, s.database.Stop())
	}
	if s.folder != nil {
		errs = append(errs, s.folder.Close())
	}
	if s.keeper != nil {
		errs = append(errs, s.keeper.Close())
	}
	return errors.Join(errs...)
}

// noBinaries says in one line what is missing and what brings it.
func noBinaries(err error) error {
	return fmt.Errorf("no PostgreSQL server programs on this machine (%w): apt-get install postgresql brings them", err)
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
