package testkit

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// BaseBackup is a copy of a whole server's files, from which the server is recovered
// to any later moment that its log has.
type BaseBackup struct {
	installation *Installation
	source       string // the server's data directory
	bin          string // its programs'
	folder       string // the copy
	owner        *syscall.Stat_t
	settings     string // that a recovery must not have lower than the server
}

// BaseBackup copies all files of the installation's server, which has to be of the
// test's own (Apart), while it goes on.
func (in *Installation) BaseBackup(t testing.TB) *BaseBackup {
	t.Helper()
	b := &BaseBackup{installation: in}
	b.must(t, b.copy(t))
	return b
}

func (b *BaseBackup) must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const sqlRecoverySettings = `
SELECT string_agg(name || ' = ' || setting, E'\n') FROM pg_settings
 WHERE name IN ('max_connections', 'max_worker_processes', 'max_wal_senders', 'max_prepared_transactions', 'max_locks_per_transaction', 'wal_level')`

// copy follows "Making a Base Backup Using the Low Level API" of PostgreSQL's manual.
func (b *BaseBackup) copy(t testing.TB) error {
	ctx := t.Context()
	admin, err := b.installation.server.connect(ctx)
	if err != nil {
		return err
	}
	defer admin.Close(context.WithoutCancel(ctx))
	err = admin.QueryRow(ctx, `SELECT current_setting('data_directory'), (SELECT setting FROM pg_config WHERE name = 'BINDIR')`).Scan(&b.source, &b.bin)
	if err != nil {
		return err
	}
	if err := admin.QueryRow(ctx, sqlRecoverySettings).Scan(&b.settings); err != nil {
		return err
	}
	info, err := os.Stat(b.source)
	if err != nil {
		return err
	}
	b.owner = info.Sys().(*syscall.Stat_t)
	parent, err := os.MkdirTemp("", "holdfast-recovered-") // t.TempDir's is only its owner's to enter
	if err != nil {
		return err
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	if err := os.Chmod(parent, 0o755); err != nil {
		return err
	}
	b.folder = filepath.Join(parent, "data")
	if _, err := admin.Exec(ctx, `SELECT pg_backup_start('rehearsal', true)`); err != nil {
		return err
	}
	// Files may go while they are copied: cp says so, and the log knows.
	if out, err := exec.CommandContext(ctx, "cp", "-a", b.source, b.folder).CombinedOutput(); err != nil && len(out) == 0 {
		return err
	}
	var label, spaces string
	if err := admin.QueryRow(ctx, `SELECT labelfile, spcmapfile FROM pg_backup_stop(false)`).Scan(&label, &spaces); err != nil {
		return err
	}
	for _, gone := range []string{"postmaster.pid", "postmaster.opts", "pg_wal"} {
		if err := os.RemoveAll(filepath.Join(b.folder, gone)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(b.folder, "pg_wal", "archive_status"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.folder, "backup_label"), []byte(label), 0o600)
}

// RestorePoint names this moment in the server's log.
func (in *Installation) RestorePoint(t testing.TB, name string) {
	t.Helper()
	in.onServer(t, `SELECT pg_create_restore_point($1)`, name)
}

func (in *Installation) onServer(t testing.TB, sql string, args ...any) {
	t.Helper()
	admin, err := in.server.connect(t.Context())
	if err == nil {
		defer admin.Close(context.WithoutCancel(t.Context()))
		_, err = admin.Exec(t.Context(), sql, args...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Recover starts a server from the backup, which goes through the log up to a
// restore point, and gives the installation that is on it, until the test ends.
func (b *BaseBackup) Recover(t testing.TB, point string) *Installation {
	t.Helper()
	b.installation.onServer(t, `SELECT pg_switch_wal()`) // so that the log's last file is whole
	port, err := freePort()
	b.must(t, err)
	settings := b.settings + fmt.Sprintf("\nfsync = off\nport = %d\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nrestore_command = 'cp \"%s/pg_wal/%%f\" \"%%p\"'\n"+
		"recovery_target_name = '%s'\nrecovery_target_action = 'promote'\n", port, b.source, point)
	auto, err := os.OpenFile(filepath.Join(b.folder, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	b.must(t, err)
	_, err = auto.WriteString("\n" + settings)
	b.must(t, err)
	b.must(t, auto.Close())
	b.must(t, os.WriteFile(filepath.Join(b.folder, "recovery.signal"), nil, 0o600))
	b.must(t, filepath.Walk(b.folder, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(b.owner.Uid), int(b.owner.Gid))
	}))
	b.start(t)

	admin := *b.installation.server.admin
	admin.Host = fmt.Sprintf("127.0.0.1:%d", port)
	recovered := &Installation{server: server{&admin}, control: b.installation.control, data: b.installation.data}
	recovered.await(t, &admin)
	return recovered
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// start runs the server as the user whom its files belong to, and stops it when the
// test ends.
func (b *BaseBackup) start(t testing.TB) {
	t.Helper()
	log, err := os.Create(filepath.Join(filepath.Dir(b.folder), "log"))
	b.must(t, err)
	cmd := exec.Command(filepath.Join(b.bin, "postgres"), "-D", b.folder)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: b.owner.Uid, Gid: b.owner.Gid}
	}
	b.must(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGQUIT) // nobody needs what it has
		cmd.Wait()
		log.Close()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("the recovered server said:\n%s", said)
		}
	})
}

// await waits until the recovery has come to its end.
func (in *Installation) await(t testing.TB, admin *url.URL) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var recovering bool
		conn, err := pgx.Connect(t.Context(), admin.String())
		if err == nil {
			err = conn.QueryRow(t.Context(), `SELECT pg_is_in_recovery()`).Scan(&recovering)
			conn.Close(t.Context())
		}
		if err == nil && !recovering {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the recovery doesn't end: in recovery %v, %v", recovering, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
