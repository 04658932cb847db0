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
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// The tests of the heap's size are not parallel: they measure the process.

const (
	largeBody   = 8 << 20
	smallMemory = 128 << 20
	manyCallers = 64
)

// large is a keeper that takes large bodies, in a small memory.
func (k *keeper) large(t testing.TB) *keeper {
	return k.process(t, Options{Limits: Limits{Body: largeBody, Record: 2 * largeBody}, Memory: NewMemory(smallMemory)})
}

// Nine times as many callers of a tenant as its share has room for publish and read
// bodies that nothing compresses. The heap has what Memory's doc says, and everybody
// comes to an end.
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
			if most := is.copies*uint64(k.Memory().large.share) + heapOverhead; peak > most {
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
		release, err := k.Memory().Take(t.Context(), k.scope.Tenant, largeBody)
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
	if !k.Memory().idle() {
		t.Error("somebody has kept room in memory")
	}
}

func (m *Memory) idle() bool { return m.small.idle() && m.large.idle() }

func TestMemory_WhoWaitsInVain_IsToldToComeBack_AndWhoLeavesTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, tenant := NewMemory(1<<20), domain.TenantID{1}
		all, err := m.Take(t.Context(), tenant, 2<<20) // all that it may have
		if err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := m.Take(ctx, tenant, smallBody+1)
			left <- err
		}()
		synctest.Wait()
		leave()
		if err := <-left; err != context.Canceled {
			t.Errorf("who left was told %v", err)
		}
		began := time.Now()
		_, err = m.Take(t.Context(), tenant, smallBody+1)
		expectCode(t, err, domain.KindUnavailable, "overloaded")
		if waited := time.Since(began); waited != memoryPatience {
			t.Errorf("who came in vain waited for %v", waited)
		}
		all()
		all() // changes nothing
		if !m.idle() {
			t.Error("somebody has kept room in memory")
		}
	})
}

// One tenant has all that it may, and waits for more: what is small doesn't wait, not
// even its own, and nothing of another's does.
func TestMemory_ATenantThatHasItsShare_HoldsUpNeitherSmallBodiesNorOthers(t *testing.T) {
	t.Parallel()
	k := newKeeper(t, FormatSQL)
	c := k.collection(t, "orders")
	k.publish(t, c, items("a", "small"))
	m := k.Memory()
	share, err := m.Take(t.Context(), k.scope.Tenant, m.total)
	if err != nil {
		t.Fatal(err)
	}
	defer share()
	ctx, leave := context.WithCancel(t.Context())
	waited := make(chan error, 1)
	go func() {
		_, err := m.Take(ctx, k.scope.Tenant, m.total)
		waited <- err
	}()
	if got := k.body(t, c, "a", "items"); got != "small" {
		t.Errorf("read %q", got)
	}
	theirs, err := m.Take(t.Context(), domain.TenantID{1}, m.total)
	if err != nil {
		t.Fatalf("another tenant: %v", err)
	}
	theirs()
	leave()
	if err := <-waited; err != context.Canceled {
		t.Errorf("it was told %v", err)
	}
}
