package postgres

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ulikunitz/xz"
)

func TestDownload_UnpacksProgramsOnce(t *testing.T) {
	home(t)
	archive := packaged(t, "15.13")
	var fetched atomic.Int32
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".sha256") {
			sum := sha256.Sum256(archive)
			_, _ = w.Write([]byte(hex.EncodeToString(sum[:])))
			return
		}
		fetched.Add(1)
		_, _ = w.Write(archive)
	}))
	defer repository.Close()

	for range 2 {
		dir := filepath.Join(t.TempDir(), "programs")
		got, err := DownloadBinaries(t.Context(), Account{}, repository.URL, dir)
		want := Binaries{Dir: filepath.Join(dir, "bin"), Major: 15}
		if err != nil || got != want {
			t.Errorf("got %v, %v; want %v", got, err, want)
		}
	}
	if n := fetched.Load(); n != 1 {
		t.Errorf("fetched %d times, want once: the archive is kept", n)
	}
}

func TestDownload_ThatFails_SaysSoInOneLine(t *testing.T) {
	home(t)
	repository := httptest.NewServer(http.NotFoundHandler())
	repository.Close() // nobody answers

	_, err := DownloadBinaries(t.Context(), Account{}, repository.URL, filepath.Join(t.TempDir(), "programs"))
	if err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), repository.URL) {
		t.Errorf("got %v, want one line that names the place", err)
	}
}

func TestDownload_GivesUpWhenAsked(t *testing.T) {
	home(t)
	asked, release := make(chan struct{}), make(chan struct{})
	repository := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-release
	}))
	defer repository.Close()
	defer close(release)

	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	go func() { <-asked; cancel(enough) }()
	if _, err := DownloadBinaries(ctx, Account{}, repository.URL, filepath.Join(t.TempDir(), "programs")); !errors.Is(err, enough) {
		t.Errorf("got %v, want the reason to give up", err)
	}
}

// home gives the test a home folder of its own: archives are kept there.
func home(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
}

// packaged is an archive as the repository has them: a zip with one compressed
// tar, which has the programs.
func packaged(t *testing.T, version string) []byte {
	t.Helper()
	var tarball bytes.Buffer
	compress, err := xz.NewWriter(&tarball)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(compress)
	for _, name := range []string{"initdb", "postgres", "pg_ctl"} {
		text := programText(name, version)
		header := &tar.Header{Typeflag: tar.TypeReg, Name: "bin/" + name, Mode: 0o755, Size: int64(len(text))}
		if err := files.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), compress.Close()); err != nil {
		t.Fatal(err)
	}

	var archive bytes.Buffer
	zipped := zip.NewWriter(&archive)
	entry, err := zipped.Create("postgres.txz")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write(tarball.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func TestDownload_BrokenArchive_IsNoServer(t *testing.T) {
	home(t)
	repository := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("not an archive"))
	}))
	defer repository.Close()
	dir := filepath.Join(t.TempDir(), "programs")
	if b, err := DownloadBinaries(t.Context(), Account{}, repository.URL, dir); err == nil {
		t.Errorf("got %v from a broken archive", b)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was unpacked: %v", err)
	}
}
