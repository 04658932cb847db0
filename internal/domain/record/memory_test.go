package record

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The tests of the heap's size are not parallel: they measure the process.

const (
	largeBody   = 8 << 20
	smallMemory = 64 << 20
	manyCallers = 64
)

// large is a keeper that takes large bodies, in a small memory.
func (k *keeper) large(t testing.TB) *keeper {
	return k.process(t, Options{Limits: Limits{Body: largeBody, Record: 2 * largeBody}, Memory: NewMemory(smallMemory)})
}

// Eight times as many callers as there is room for publish and read bodies that
// nothing compresses. The heap has what Memory's doc says, and everybody comes to
// an end.
func TestMemory_ManyCallersWithLargeBodies_StayWithinTheBudget(t *testing.T) {
	for name, is := range map[string]struct {
		format int16
		copies uint64 // of each body, as Memory's doc says
	}{"sql": {FormatSQL, 3}, "store": {FormatStore, 1}} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, is.format).large(t)
			var collections []string
			for i := range 4 {
				collections = append(collections, k.collection(t, fmt.Sprint("large-", i)))
			}
			heap := watchHeap()
			var callers sync.WaitGroup
			for n := range manyCallers {
				callers.Go(func() { k.publishAndRead(t, collections[n%len(collections)], uint64(n)) })
			}
			callers.Wait()
			peak := heap.stop()
			t.Logf("the heap grew by %d MiB, with bodies of %d MiB in a memory of %d MiB", peak>>20, manyCallers*largeBody>>20, smallMemory>>20)
			if most := is.copies*smallMemory + heapOverhead; peak > most {
				t.Errorf("that is more than %d MiB", most>>20)
			}
			k.expectNothingTaken(t)
		})
	}
}

// heapOverhead is of everything else: connections, and what isn't collected yet.
const heapOverhead = 48 << 20

// publishAndRead does what a request does, and the next one.
func (k *keeper) publishAndRead(t *testing.T, c string, n uint64) {
	key := fmt.Sprint("key-", n)
	var digest Digest
	err := persistently(func() error {
		release, err := k.Memory().Take(t.Context(), largeBody)
		if err != nil {
			return err
		}
		defer release()
		body := noise(n)
		digest = DigestOf(body)
		_, err = k.Publish(t.Context(), k.scope, c, nil, Publication{
			Key: key, OperationID: key, Expect: Expectation{Absent: true}, Bodies: map[string][]byte{"items": body},
		})
		return err
	})
	if err != nil {
		t.Errorf("publish %s: %v", key, err)
		return
	}
	err = persistently(func() error {
		body, err := k.Body(t.Context(), k.scope, c, key, "items")
		if err != nil {
			return err
		}
		defer body.Close()
		if sha256.Sum256(body.Body) != digest {
			t.Errorf("%s came back as something else", key)
		}
		return nil
	})
	if err != nil {
		t.Errorf("read %s: %v", key, err)
	}
}

// persistently asks again when it is told to, a few times: first come is first
// served, so nobody needs many.
func persistently(do func() error) (err error) {
	for range 10 {
		if err = do(); domain.KindOf(err) != domain.KindUnavailable {
			return err
		}
	}
	return err
}

// noise is a body that nothing compresses.
func noise(seed uint64) []byte {
	body := make([]byte, largeBody)
	source := rand.NewPCG(seed, 1)
	for i := 0; i < len(body); i += 8 {
		word := source.Uint64()
		for k := range 8 {
			body[i+k] = byte(word >> (8 * k))
		}
	}
	return body
}

// heapWatch looks at the heap again and again.
type heapWatch struct {
	began   uint64
	peak    uint64
	percent int
	done    chan struct{}
	over    chan struct{}
}

// watchHeap has the collector run often, so that what it hasn't collected yet is
// little, and the heap is what is held.
func watchHeap() *heapWatch {
	w := &heapWatch{percent: debug.SetGCPercent(10), done: make(chan struct{}), over: make(chan struct{})}
	runtime.GC()
	w.began = heapBytes()
	go func() {
		defer close(w.over)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				w.peak = max(w.peak, heapBytes())
			case <-w.done:
				return
			}
		}
	}()
	return w
}

// stop gives by how many bytes the heap was larger than at the beginning, at most.
func (w *heapWatch) stop() uint64 {
	close(w.done)
	<-w.over
	debug.SetGCPercent(w.percent)
	return max(w.peak, w.began) - w.began
}

func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// expectNothingTaken says that all of the memory is free.
func (k *keeper) expectNothingTaken(t testing.TB) {
	t.Helper()
	m := k.Memory()
	if !m.free.TryAcquire(m.total) {
		t.Error("somebody has kept room in memory")
		return
	}
	m.free.Release(m.total)
}

func TestMemory_WhoWaitsInVain_IsToldToComeBack_AndWhoLeavesTakesNothing(t *testing.T) {
	t.Parallel()
	m := NewMemory(10)
	all, err := m.Take(t.Context(), 100) // all there is
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := m.Take(ctx, 1)
		left <- err
	}()
	leave()
	if err := <-left; err != context.Canceled {
		t.Errorf("who left was told %v", err)
	}
	all()
	all() // changes nothing
	for range 2 {
		release, err := m.Take(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	if m.free.TryAcquire(11) {
		t.Error("there is more room than there was")
	}
}
