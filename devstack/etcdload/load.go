package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const (
	payloadSize = 128  // bytes
	holdSeconds = 3600 // of the lease that the owners' keys hang on: longer than any round
	dialTimeout = 5 * time.Second
)

// round is what was measured.
type round struct {
	Operations int           `json:"operations"`
	Elapsed    time.Duration `json:"elapsed"` // nanoseconds, as the quantiles
	P50        time.Duration `json:"p50"`
	P99        time.Duration `json:"p99"`
}

// measure has callers put entries into the journals of worlds that they own, each
// into a random one, and each again as soon as it has its answer. They share one
// connection, on which etcd's client sends their calls together: more are slower.
func measure(ctx context.Context, endpoint string, callers, worlds int, length time.Duration) (round, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: dialTimeout, Logger: zap.NewNop()})
	if err != nil {
		return round{}, err
	}
	defer client.Close()
	owners, err := own(ctx, client, worlds)
	if err != nil {
		return round{}, fmt.Errorf("own the worlds: %w", err)
	}
	var n atomic.Int64
	first := strconv.FormatInt(time.Now().UnixNano(), 36)
	payload := string(bytes.Repeat([]byte{'x'}, payloadSize))
	return loop(ctx, callers, length, func(ctx context.Context) error {
		owner := owners[rand.IntN(len(owners))]
		entry := owner.world + "/entry/" + first + "-" + strconv.FormatInt(n.Add(1), 10)
		return owner.put(ctx, client, entry, payload)
	})
}

// owner is the right to write to a world: a key that hangs on a lease, and the
// revision that made it. This is how etcd's own locks and elections fence.
type owner struct {
	world    string
	key      string
	revision int64
}

// own makes the keys anew, so that no earlier owner's fence matches.
func own(ctx context.Context, client *clientv3.Client, worlds int) ([]owner, error) {
	lease, err := client.Grant(ctx, holdSeconds)
	if err != nil {
		return nil, err
	}
	owners := make([]owner, worlds)
	for i := range owners {
		world := "world-" + strconv.Itoa(i)
		key := world + "/owner/" + strconv.FormatInt(int64(lease.ID), 16)
		put, err := client.Put(ctx, key, "node", clientv3.WithLease(lease.ID))
		if err != nil {
			return nil, err
		}
		owners[i] = owner{world, key, put.Header.Revision}
	}
	return owners, nil
}

var errFenced = errors.New("a put of the owner was fenced")

func (o owner) put(ctx context.Context, client *clientv3.Client, entry, payload string) error {
	answer, err := client.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(o.key), "=", o.revision)).
		Then(clientv3.OpPut(entry, payload)).
		Commit()
	if err == nil && !answer.Succeeded {
		err = errFenced
	}
	return err
}

// loop runs callers side by side for a time. The first error ends it.
func loop(ctx context.Context, callers int, length time.Duration, op func(context.Context) error) (round, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	times := make([][]time.Duration, callers)
	began := time.Now()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for last := began; last.Sub(began) < length && ctx.Err() == nil; {
				if err := op(ctx); err != nil {
					cancel(err)
					return
				}
				now := time.Now()
				times[caller] = append(times[caller], now.Sub(last))
				last = now
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return round{}, err
	}
	merged := slices.Concat(times...)
	slices.Sort(merged)
	r := round{Operations: len(merged), Elapsed: time.Since(began)}
	if len(merged) > 0 {
		r.P50, r.P99 = merged[len(merged)/2], merged[len(merged)*99/100]
	}
	return r, nil
}
