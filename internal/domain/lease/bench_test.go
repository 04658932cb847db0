package lease

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkAppend writes single entries with ids from 64 callers.
func BenchmarkAppend(b *testing.B) {
	for _, worlds := range []int{1, 1000} {
		b.Run(fmt.Sprintf("worlds=%d", worlds), func(b *testing.B) {
			c := newCoordinator(b)
			ids := make([]string, worlds)
			leases := make([]Authority, worlds)
			for i := range ids {
				ids[i] = c.world(b, fmt.Sprintf("world-%d", i))
				leases[i] = c.take(b, ids[i])
			}
			payload := make([]byte, 128)
			var next atomic.Int64
			b.ReportAllocs()
			b.SetParallelism(32)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					n := next.Add(1)
					k := int(n) % worlds
					_, err := c.Append(b.Context(), c.scope, ids[k], &leases[k], Append{Entries: []AppendEntry{{ID: fmt.Sprint(n), Payload: payload}}})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
