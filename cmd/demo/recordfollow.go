package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/clients/go"
)

// feed follows a collection's export, as a program that keeps an index of it does.
type feed struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu             sync.Mutex
	kept           int64 // the sequence to go on behind
	pages, changes int
	state          sections
	err            error
}

// sections are how a collection's sections stand, by key and section.
type sections map[[2]string]standing

// standing is a section's last change. Its body was verified against the digest.
type standing struct {
	digest   string // "" for a tombstone
	sequence int64
}

func newFeed() *feed { return &feed{cancel: func() {}, state: sections{}} }

func (s sections) take(section *holdfast.ExportedSection) {
	stands := standing{sequence: section.ExportSequence}
	if section.Live {
		stands.digest = *section.Digest
	}
	s[[2]string{section.Key, section.Section}] = stands
}

// follow begins, until stop.
func (f *feed) follow(ctx context.Context, client *holdfast.ClientWithResponses) {
	ctx, f.cancel = context.WithCancel(ctx)
	f.done = make(chan struct{})
	go func() {
		defer close(f.done)
		for ctx.Err() == nil && f.goOn(ctx, client) {
		}
	}()
}

// goOn takes two pages behind what it has kept, and stops there, as a program that is
// restarted does. It tells whether all is well.
func (f *feed) goOn(ctx context.Context, client *holdfast.ClientWithResponses) bool {
	pages := 0
	options := holdfast.FollowOptions{After: f.kept, Bodies: true, LongestPause: 100 * time.Millisecond}
	for page, err := range holdfast.FollowExport(ctx, client, orders, options) {
		if err != nil && ctx.Err() == nil {
			f.mu.Lock()
			f.err = err
			f.mu.Unlock()
			return false
		}
		f.take(&page)
		if pages++; pages == 2 {
			break
		}
	}
	return true
}

func (f *feed) take(page *holdfast.ExportPage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(page.Records) == 0 {
		return
	}
	f.pages++
	for i := range page.Records {
		section := &page.Records[i]
		if section.ExportSequence <= f.kept {
			f.err = fmt.Errorf("sequence %d came behind %d", section.ExportSequence, f.kept)
		}
		f.kept = section.ExportSequence
		f.changes++
		f.state.take(section)
	}
}

// stop ends following. It may be called twice.
func (f *feed) stop() {
	f.cancel()
	if f.done != nil {
		<-f.done
	}
}

// await waits until it has come to a sequence, and ends following.
func (f *feed) await(ctx context.Context, sequence int64) error {
	defer f.stop()
	for patience := time.Now().Add(10 * time.Second); time.Now().Before(patience); {
		f.mu.Lock()
		kept, err := f.kept, f.err
		f.mu.Unlock()
		if err != nil || kept == sequence {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.done:
		case <-time.After(10 * time.Millisecond):
		}
	}
	return errors.New("the follower doesn't come to the end")
}

// takeSnapshot has a snapshot made, and compares it with the records themselves.
func (sh *shop) takeSnapshot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var err error
	if sh.snapshot, err = holdfast.TakeSnapshot(ctx, sh.client, orders); err != nil {
		return err
	}
	taken := sections{}
	for section, err := range holdfast.ReadSnapshot(ctx, sh.client, orders, sh.snapshot.SnapshotID) {
		if err != nil {
			return err
		}
		taken.take(&section)
	}
	return sh.expectStanding(ctx, taken)
}

// expectAllFollowed compares what the follower has with the records themselves.
func (sh *shop) expectAllFollowed(ctx context.Context) error {
	collection, err := sh.client.GetCollectionWithResponse(ctx, orders)
	if err != nil {
		return err
	}
	if err := sh.feed.await(ctx, collection.JSON200.ExportSequence); err != nil {
		return err
	}
	return sh.expectStanding(ctx, sh.feed.state)
}

// expectStanding says that the sections are those of the records, and no others.
func (sh *shop) expectStanding(ctx context.Context, got sections) error {
	want, limit := sections{}, holdfast.Limit(50)
	params := &holdfast.ListRecordsParams{Limit: &limit}
	for {
		page, err := sh.client.ListRecordsWithResponse(ctx, orders, params)
		if err != nil {
			return err
		}
		for _, record := range page.JSON200.Records {
			for name, section := range record.Sections {
				stands := standing{sequence: section.ExportSequence}
				if section.Live {
					stands.digest = *section.Digest
				}
				want[[2]string{record.Key, name}] = stands
			}
		}
		if page.JSON200.NextCursor == nil {
			break
		}
		params.Cursor = page.JSON200.NextCursor
	}
	return expect(len(want) > 0 && maps.Equal(got, want), "%d sections are told, and %d stand: %v instead of %v", len(got), len(want), got, want)
}
