package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func (a *testAPI) readyz(t *testing.T) (int, Readiness) {
	t.Helper()
	w := a.do(t, request{method: "GET", target: "/readyz", anonymous: true})
	var state Readiness
	if err := json.Unmarshal(w.Body.Bytes(), &state); err != nil {
		t.Fatal(err)
	}
	return w.Code, state
}

func TestReadyz_ReportsEachCheckAndFailsOnThoseThatGate(t *testing.T) {
	t.Parallel()
	var database, store error
	a := newTestAPI(t, testOptions{checks: []ReadinessCheck{
		{Name: "database/control", Gates: true, Run: func(context.Context) error { return database }},
		{Name: "object_store", Run: func(context.Context) error { return store }},
	}})
	state := func(status, control, objects string) Readiness {
		return Readiness{Status: status, Checks: []Check{{Name: "database/control", Status: control}, {Name: "object_store", Status: objects}}}
	}
	for _, c := range []struct {
		database, store error
		code            int
		want            Readiness
	}{
		{nil, nil, 200, state("ready", "ok", "ok")},
		{nil, errors.New("down"), 200, state("ready", "ok", "failing")},
		{errors.New("10.0.0.7 refused"), nil, 503, state("failing", "failing", "ok")},
	} {
		database, store = c.database, c.store
		code, got := a.readyz(t)
		if diff := cmp.Diff(c.want, got); diff != "" || code != c.code {
			t.Errorf("%d, want %d; (-want +got):\n%s", code, c.code, diff)
		}
	}
	if !strings.Contains(a.log.String(), "10.0.0.7 refused") {
		t.Error("the log doesn't tell why")
	}
}

func TestReadyz_FailsWhileDrainingAndTheRestIsServed(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	if code, _ := a.readyz(t); code != 200 {
		t.Fatalf("ready is %d", code)
	}
	a.api.Drain()
	if code, state := a.readyz(t); code != 503 || state.Status != "draining" {
		t.Errorf("draining is %d %s", code, state.Status)
	}
	for _, target := range []string{"/livez", accountPath} {
		if w := a.do(t, request{method: "GET", target: target}); w.Code != 200 {
			t.Errorf("%s is %d while draining", target, w.Code)
		}
	}
}

func TestReadyz_ManyWhoAskAtOnceShareOneRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		release := make(chan struct{})
		a := newTestAPI(t, testOptions{checks: []ReadinessCheck{{Name: "database", Gates: true, Run: func(context.Context) error {
			runs.Add(1)
			<-release
			return nil
		}}}})
		var asking sync.WaitGroup
		for range 20 {
			asking.Go(func() {
				if code, state := a.readyz(t); code != 200 || state.Status != "ready" {
					t.Errorf("readyz is %d %s", code, state.Status)
				}
			})
		}
		synctest.Wait() // until all of them wait
		close(release)
		asking.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("%d runs for 20 who asked", n)
		}
	})
}
