package migration

import (
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/domain/record"
)

// A record of which another section is published during every pass loses each time,
// and is no record that nobody can move: there is another sweep, until it wins.
func TestSweep_WhatOnlyLosesToPublishers_IsMetAgain(t *testing.T) {
	t.Parallel()
	installation := newMoving(t)
	for _, kind := range []Kind{RecordBodies, Rehydrate} {
		m := installation.another(t, kind)
		c := m.fill(t, "orders", 1)
		active := m.active(t, kind)
		walker, err := m.mover(t.Context(), active.Tenant, record.NumberOf("orders"), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		walker.caps, _ = unlimited(t.Context())
		for i := range 4 {
			p := walker.prepare(t.Context(), walker.at.cursor())
			if p.err != nil || len(p.Sound) != 1 {
				t.Fatalf("%s: the pass has %d records, %v", kind, len(p.Sound), p.err)
			}
			m.publish(t, "orders", record.Publication{
				Key: "key-0000", OperationID: fmt.Sprint("beside-", i), Bodies: map[string][]byte{"plans": fmt.Append(nil, i)},
				Expect: record.Expectation{Revision: int64(i + 1)},
			})
			err := walker.commit(t.Context(), p)
			p.close()
			if err != nil {
				t.Fatal(err)
			}
			if ended, again, err := walker.endSweep(t.Context()); !again || err != nil {
				t.Fatalf("%s: sweep %d ended as %q, %v", kind, i+1, ended, err)
			}
		}
		if at := m.total(t, active); at.Raced != 4 || at.Moved != 0 {
			t.Errorf("%s: the totals are %+v", kind, at)
		}
		m.finish(t, active.ID)
	}
}
