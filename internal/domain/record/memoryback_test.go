package record

import (
	"context"
	"net/http"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// reads are all ways to get bodies, each until the answer is closed.
var reads = map[string]func(ctx context.Context, k *keeper, c string) error{
	"body": func(ctx context.Context, k *keeper, c string) error {
		body, err := k.Body(ctx, k.scope, c, "a", "items")
		if err == nil {
			body.Close()
		}
		return err
	},
	"record": func(ctx context.Context, k *keeper, c string) error {
		bodies, err := k.RecordWithBodies(ctx, k.scope, c, "a")
		if err == nil {
			bodies.Close()
		}
		return err
	},
	"export": func(ctx context.Context, k *keeper, c string) error {
		page, err := k.Export(ctx, k.scope, c, ExportRequest{Bodies: true})
		if err == nil {
			page.Close()
			page.Close() // changes nothing
		}
		return err
	},
	"marked export": func(ctx context.Context, k *keeper, c string) error {
		page, err := k.Export(ctx, k.scope, c, ExportRequest{Bodies: true, Mark: true})
		if err == nil {
			page.Close()
		}
		return err
	},
}

func TestMemory_IsGivenBack_WhateverComesOfAReading(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	k.publish(t, c, creation("op"))
	for name, read := range reads {
		if err := read(t.Context(), k, c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		k.expectNothingTaken(t)

		k.faults.On("GET", testkit.WrongBytes())
		if err := read(t.Context(), k, c); name != "marked export" {
			expectCode(t, err, domain.KindUnavailable, "body_unavailable")
		} else if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		k.expectNothingTaken(t)

		k.leaves(t, func(ctx context.Context) error { return read(ctx, k, c) })
		k.expectNothingTaken(t)
	}
	k.expectReadable(t, c)
}

// leaves has a reader leave while the object store doesn't answer.
func (k *keeper) leaves(t *testing.T, read func(context.Context) error) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	k.faults.On("GET", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		leave()
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	if err := read(ctx); err != context.Canceled {
		t.Errorf("who left was told %v", err)
	}
}

// panicking is a store that has a fault of its own.
type panicking struct{ Store }

func (panicking) Fetch(context.Context, string, [32]byte, int64) ([]byte, error) { panic("a fault") }

func TestMemory_IsGivenBack_WhenAReadingPanics(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatStore)
	c := k.collection(t, "orders")
	k.publish(t, c, creation("op"))
	faulty := *k
	faulty.Service = New(k.router, lease.New(k.router, testSecrets("server"), lease.Options{}), panicking{}, Options{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it did not panic")
			}
		}()
		_, _ = faulty.Body(t.Context(), k.scope, c, "a", "items")
	}()
	faulty.expectNothingTaken(t)
}
