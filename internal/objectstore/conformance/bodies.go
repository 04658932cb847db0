package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

func bodiesComeBack(ctx context.Context, at Place) error {
	var faults []error
	for name, x := range map[string]body{
		"empty":                  at.body(nil),
		"one byte":               at.body([]byte{0}),
		"NUL and no known text":  at.body([]byte("\x00\xff\xfe{\"a\": NaN}\r\n")),
		"a chunk, exactly":       at.random(32 << 10),
		"a chunk and a byte":     at.random(32<<10 + 1),
		"larger than any buffer": at.random(2 << 20),
	} {
		err := at.store(ctx, x)
		if err == nil {
			err = at.same(ctx, x)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

func objectIsMadeOnce(ctx context.Context, at Place) error {
	x := at.random(1000)
	for i, step := range []struct{ likely, uploaded bool }{
		{likely: true, uploaded: true}, // likely, and yet not there
		{likely: true},
		{likely: false}, // 412, and the same proof
	} {
		uploaded, err := at.ensure(ctx, x, step.likely)
		if err != nil || uploaded != step.uploaded {
			return fmt.Errorf("step %d: uploaded %t, not %t: %w", i+1, uploaded, step.uploaded, orNothing(err))
		}
	}
	return at.same(ctx, x)
}

// racers are how many make one object at once.
const racers = 32

func manyCreators(ctx context.Context, at Place) error {
	x := at.random(8 << 10)
	var uploads atomic.Int32
	var all sync.WaitGroup
	faults := make([]error, racers)
	for i := range faults {
		all.Go(func() {
			uploaded, err := at.ensure(ctx, x, false)
			if uploaded {
				uploads.Add(1)
			}
			faults[i] = err
		})
	}
	all.Wait()
	if n := uploads.Load(); n != 1 {
		faults = append(faults, fmt.Errorf("%d of %d uploaded it", n, racers))
	}
	return errors.Join(append(faults, at.same(ctx, x))...)
}

func wrongBytesStop(ctx context.Context, at Place) error {
	var faults []error
	for name, spoil := range map[string]func([]byte) []byte{
		"one bit":     func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"a byte less": func(b []byte) []byte { return b[:len(b)-1] },
		"a byte more": func(b []byte) []byte { return append(b, 0) },
		"nothing":     func([]byte) []byte { return nil },
	} {
		right := at.random(100_000)
		wrong := at.body(spoil(bytes.Clone(right.bytes)))
		wrong.key = right.key
		if err := at.store(ctx, wrong); err != nil {
			return err
		}
		for _, likely := range []bool{true, false} {
			uploaded, err := at.ensure(ctx, right, likely)
			if err := fails(err, isCorrupt); err != nil || uploaded {
				faults = append(faults, fmt.Errorf("%s, likely %t: uploaded %t: %w", name, likely, uploaded, orNothing(err)))
			}
		}
		_, err := at.Store.Fetch(ctx, right.key, right.digest, int64(len(right.bytes)))
		if err := errors.Join(fails(err, isCorrupt), at.same(ctx, wrong)); err != nil { // never overwritten
			faults = append(faults, fmt.Errorf("%s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

// wrongDigestIsRefused: the digest that goes with an upload is the store's to
// check. One that takes it for a label would keep what the network spoilt.
func wrongDigestIsRefused(ctx context.Context, at Place) error {
	x := at.random(1000)
	uploaded, err := at.Store.Ensure(ctx, x.key, x.bytes, sha256.Sum256(nil), false)
	if err == nil || uploaded {
		return errors.New("it was stored")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err = at.Store.Fetch(ctx, x.key, x.digest, int64(len(x.bytes)))
	return fails(err, isMissing)
}

func otherDescriptorIsCorruption(ctx context.Context, at Place) error {
	x := at.random(1000)
	if err := at.store(ctx, x); err != nil {
		return err
	}
	var faults []error
	for _, length := range []int64{0, 999, 1001} {
		_, err := at.Store.Fetch(ctx, x.key, x.digest, length)
		faults = append(faults, fails(err, isCorrupt))
	}
	_, err := at.Store.Fetch(ctx, x.key, [32]byte{}, 1000)
	return errors.Join(append(faults, fails(err, isCorrupt))...)
}

func missingIsMissing(ctx context.Context, at Place) error {
	x := at.random(10)
	_, err := at.Store.Fetch(ctx, x.key, x.digest, 10)
	return fails(err, isMissing)
}
