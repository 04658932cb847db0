package identity

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCleanup_WhatHasHadItsTimeGoesAndAllElseStays runs every scenario a minute
// before its time, when nothing goes, and a minute behind it.
func TestCleanup_WhatHasHadItsTimeGoesAndAllElseStays(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			w := w.forTenant(t)
			sc.prepare(t, w)
			young := w.snapshot(t)
			w.mustClean(t, sc.task)
			if diff := cmp.Diff([]string(nil), w.since(t, young)); diff != "" {
				t.Errorf("before its time (-want +got):\n%s", diff)
			}
			before := sc.ripe(t, w)
			w.mustClean(t, sc.task)
			if diff := cmp.Diff(sc.want, w.since(t, before)); diff != "" {
				t.Errorf("when its time has come (-want +got):\n%s", diff)
			}
			done := w.snapshot(t)
			w.mustClean(t, sc.task)
			if diff := cmp.Diff([]string(nil), w.since(t, done)); diff != "" {
				t.Errorf("once more (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCleanup_EveryTaskHasAScenario(t *testing.T) {
	for _, task := range CleanupTasks() {
		if !slices.ContainsFunc(scenarios, func(sc scenario) bool { return sc.task == task }) {
			t.Errorf("no scenario of %s", task)
		}
	}
}

// TestCleanup_ATenantThatCannotBeCleanedUpStandsInNobodysWay: the suspended one's
// turn comes first, alone on its page.
func TestCleanup_ATenantThatCannotBeCleanedUpStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			first, second := w.forTenant(t), w.forTenant(t) // in the order of their ids too
			sc.prepare(t, first)
			sc.prepare(t, second)
			beforeFirst, beforeSecond := sc.ripe(t, first), sc.ripe(t, second)
			first.setGate(t, first.scope.Tenant, gateOf("suspended"))
			first.pageLimit, second.pageLimit = 1, 1
			second.mustClean(t, sc.task)
			if diff := cmp.Diff(sc.want, second.since(t, beforeSecond)); diff != "" {
				t.Errorf("the other tenant's (-want +got):\n%s", diff)
			}
			first.mustClean(t, sc.task)
			if diff := cmp.Diff([]string(nil), first.since(t, beforeFirst)); diff != "" {
				t.Errorf("the suspended tenant's (-want +got):\n%s", diff)
			}
			first.setGate(t, first.scope.Tenant, gateOf("open"))
			first.mustClean(t, sc.task)
			if diff := cmp.Diff(sc.want, first.since(t, beforeFirst)); diff != "" {
				t.Errorf("the tenant's that was suspended (-want +got):\n%s", diff)
			}
		})
	}
}

// A namespace that is still importing is cleaned up like another.
func TestCleanup_GoesOnDuringAnImport(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	sc := scenarios[0]
	sc.prepare(t, w)
	before := sc.ripe(t, w)
	gate := gateOf("open")
	gate.IdentityState = "importing"
	w.setGate(t, w.scope.Tenant, gate)
	w.mustClean(t, sc.task)
	if diff := cmp.Diff(sc.want, w.since(t, before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCleanup_AtTheEndOnlyTheLivingAreLeft lets a long time pass over everything
// that the scenarios make, and several workers clean it up at once.
func TestCleanup_AtTheEndOnlyTheLivingAreLeft(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	var all []*workshop
	for _, sc := range scenarios {
		w := w.forTenant(t)
		sc.prepare(t, w)
		sc.ripe(t, w)
		w.pass(t, 200*24*time.Hour)
		all = append(all, w)
	}
	for range 3 { // what waits for another task has its turn in the next round
		var workers sync.WaitGroup
		for range 3 {
			workers.Go(func() { w.cleanAll(t) })
		}
		workers.Wait()
	}
	w.everywhere(t, `UPDATE events SET at = at - $1::interval`, DefaultRetention) // those of the cleanup too
	w.cleanAll(t)
	for i, w := range all {
		for _, line := range w.since(t, snapshot{}) {
			if !slices.Contains(scenarios[i].lives, line[2:]) {
				t.Errorf("%s: is left: %s", scenarios[i].name, line)
			}
		}
		w.expectSound(t)
	}
}

func TestCleanup_OfAnUnknownTaskOrDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	if _, err := w.worker(Options{}).Cleanup(t.Context(), "data1", "everything", 0, 10); err == nil {
		t.Error("there is no such task, and it was done")
	}
	if _, err := w.worker(Options{}).Cleanup(t.Context(), "elsewhere", CleanTombstones, 0, 10); err == nil {
		t.Error("there is no such database, and it was cleaned up")
	}
}

// The API's role has no part in it: it can't look into other tenants.
func TestCleanup_IsTheWorkersAlone(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	for _, task := range CleanupTasks() {
		if _, err := w.Service.Cleanup(t.Context(), "data1", task, 0, 10); err == nil {
			t.Errorf("the API's role may do %s", task)
		}
	}
}

func TestCleanup_OldEventsGoInBoundedSteps(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	a := w.account(t, "ada", "")
	n := accountRef(a.ID).Number
	// Five more than a visit takes, all as old as the account's own.
	w.everywhere(t, `
INSERT INTO events (tenant_id, number, family, record_id, revision, sequence, kind, fields, actor_kind, at)
SELECT e.tenant_id, e.number, e.family, e.record_id, e.revision + i, e.sequence + i, 'account.changed', '{}', 'holdfast', e.at
  FROM events e, generate_series(1, $1::bigint) i`, eventBatch*eventBatches+4)
	w.pass(t, DefaultRetention+time.Minute)
	var removed []int
	for range 3 {
		step, err := w.worker(Options{}).Cleanup(t.Context(), w.router.Database(n).Name, CleanOldEvents, n, 10)
		if err != nil || !step.Done || step.Visited != 1 {
			t.Fatalf("%+v, %v", step, err)
		}
		removed = append(removed, step.Recovered)
	}
	if diff := cmp.Diff([]int{eventBatch * eventBatches, 5, 0}, removed); diff != "" {
		t.Errorf("events removed by step (-want +got):\n%s", diff)
	}
	if _, err := w.Patch(t.Context(), w.scope, a.ID, 1, AccountPatch{Status: new(Disabled)}); err != nil {
		t.Fatal(err)
	}
	if events := w.eventRows(t); len(events) != 1 || events[0].Sequence != 2 {
		t.Errorf("the stream goes on with %+v, want sequence 2", events)
	}
}

// An event that is younger holds back those behind it, so that there is no gap.
func TestCleanup_OldEventsLeaveNoGap(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	a := w.account(t, "ada", "")
	for i := range 3 {
		name := new("Ada")
		if _, err := w.Patch(t.Context(), w.scope, a.ID, int64(i+1), AccountPatch{DisplayName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(t, DefaultRetention+time.Minute)
	w.everywhere(t, `UPDATE events SET at = at + interval '1 hour' WHERE revision = 3`)
	before := w.snapshot(t)
	w.mustClean(t, CleanOldEvents)
	want := []string{"- events ada 1 account.created by principal", "- events ada 2 account.changed by principal"}
	if diff := cmp.Diff(want, w.since(t, before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The progress is told as the sweeps' is.
func TestCleanup_TellsItsProgress(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	sc := scenarios[0]
	sc.prepare(t, w)
	sc.ripe(t, w)
	s := w.worker(Options{})
	for _, db := range w.workers.Databases() {
		for _, n := range db.Numbers {
			if _, err := s.Cleanup(t.Context(), db.Name, sc.task, n, 10); err != nil {
				t.Fatal(err)
			}
		}
	}
	progress, err := s.SweepProgress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var numbers int
	var visited, recovered int64
	for _, p := range progress {
		if p.Kind != string(sc.task) || p.Family != sc.task.Family() || p.Passes != 1 || p.OldestPass == nil {
			t.Errorf("the progress is %+v", p)
		}
		numbers, visited, recovered = numbers+p.Numbers, visited+p.Visited, recovered+p.Recovered
	}
	if numbers != 64 || visited != 3 || recovered != 3 {
		t.Errorf("%d numbers, %d visited, %d removed, want 64, 3 and 3", numbers, visited, recovered)
	}
}

// A device that was removed is never made again while anything tells of it.
func TestCleanup_ARemovedDevicesKeyIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t)
	label := "screen"
	req := CreateDevice{Label: &label, IdempotencyKey: "one"}
	made, err := w.CreateDevice(t.Context(), w.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	w.pass(t, DefaultCodeTerm+expiryGrace+time.Minute)
	w.mustClean(t, CleanLapsedDevices)
	_, err = w.CreateDevice(t.Context(), w.scope, req)
	if !errors.Is(err, errDeviceGone) {
		t.Errorf("the removed device's key made %v", err)
	}
	w.pass(t, DefaultRetention+time.Minute)
	w.mustClean(t, CleanOldEvents)
	again, err := w.CreateDevice(t.Context(), w.scope, req)
	if err != nil || again.ID != made.ID || again.Replayed {
		t.Errorf("when nothing is left of it, its key made %+v, %v", again, err)
	}
}
