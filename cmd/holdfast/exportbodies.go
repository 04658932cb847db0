package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// bodiesAtOnce are downloads of bodies, each through a file of its own.
const bodiesAtOnce = 8

// exportedSection is what a section's line tells of its body.
type exportedSection struct {
	Collection string `json:"collection"`
	Key        string `json:"key"`
	Section    string `json:"section"`
	Live       bool   `json:"live"`
	Digest     string `json:"digest"`
	Length     int64  `json:"length"`
}

// exporting is one run of an export.
type exporting struct {
	api       caller
	tenant    string
	directory string
	bar       *progress
	log       io.Writer

	mu      sync.Mutex
	done    tenantExport
	fetched map[string]bool // digests that this run is at
	came    int64           // bodies that this run brought
}

// bodies fetches each body that isn't there yet. What was written by a run before was
// verified before it got its name.
func (e *exporting) bodies(ctx context.Context, file *exportFile) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(bodiesAtOnce)
	e.fetched = map[string]bool{}
	err := file.sections(func(s exportedSection) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := hex.DecodeString(s.Digest); err != nil || len(s.Digest) != 2*sha256.Size {
			return fmt.Errorf("the export names a body by %q, which is no digest", s.Digest)
		}
		group.Go(func() error { return e.body(ctx, s) })
		return nil
	})
	return errors.Join(group.Wait(), err)
}

// body fetches a body unless it is there, or another section with the same one has it
// fetched just now.
func (e *exporting) body(ctx context.Context, s exportedSection) error {
	path := e.path(s.Digest)
	if !e.claim(s.Digest) {
		return nil
	}
	if found, err := os.Stat(path); err == nil && found.Size() == s.Length {
		return e.count(s, true)
	}
	err := e.fetch(ctx, s, path)
	var refused *holdfast.Error
	if errors.As(err, &refused) && refused.Code != "tenant_purged" && refused.Code != "insufficient_scope" {
		e.mu.Lock()
		e.bar.clear()
		fmt.Fprintf(e.log, "The body of section %s of %q in %s can't be had: %v\n", s.Section, s.Key, s.Collection, refused)
		delete(e.fetched, s.Digest) // another section may still have it
		e.mu.Unlock()
		return e.count(s, false)
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.came++
	e.mu.Unlock()
	return e.count(s, true)
}

func (e *exporting) path(digest string) string {
	return filepath.Join(e.directory, "bodies", digest[:2], digest)
}

func (e *exporting) claim(digest string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fetched[digest] {
		return false
	}
	e.fetched[digest] = true
	return true
}

func (e *exporting) count(s exportedSection, there bool) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if there {
		e.done.Bodies++
		e.done.Bytes += s.Length
	} else {
		e.done.Missing++
	}
	e.bar.show("%d lines, %d bodies", e.done.Lines, e.done.Bodies)
	return nil
}

// fetch writes the body beside its place, and gives it its name once it is all there
// and right.
func (e *exporting) fetch(ctx context.Context, s exportedSection, path string) error {
	response, err := e.api.ClientInterface.GetExportedBody(ctx, e.tenant, &holdfast.GetExportedBodyParams{
		Collection: s.Collection, Key: s.Key, Section: s.Section, Digest: s.Digest,
	})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	beside, err := os.CreateTemp(filepath.Dir(path), ".coming-*")
	if err != nil {
		return err
	}
	defer os.Remove(beside.Name()) // which fails once it has its name
	hash := sha256.New()
	_, err = io.Copy(io.MultiWriter(beside, hash), response.Body)
	if err := errors.Join(err, beside.Sync(), beside.Close()); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != s.Digest {
		return fmt.Errorf("other bytes came than those of digest %s", s.Digest)
	}
	return os.Rename(beside.Name(), path)
}
