package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/jobs"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

func dueSnapshot(tenant byte) record.DueSnapshot {
	return record.DueSnapshot{Tenant: domain.TenantID{tenant}}
}

// Each tenant's snapshot has a step a lap. One whose step fails waits for the next
// run, and stands in nobody's way.
func TestRecords_ARunGoesOnWithEverybodysSnapshotInTurn(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	left := map[record.DueSnapshot]int{dueSnapshot(1): 3, dueSnapshot(2): 1, dueSnapshot(3): 1}
	fake := &fakeRecords{}
	fake.snapshots = func(string) (due []record.DueSnapshot, err error) {
		fake.mu.Lock()
		defer fake.mu.Unlock()
		for _, d := range []record.DueSnapshot{dueSnapshot(1), dueSnapshot(2), dueSnapshot(3)} {
			if left[d] > 0 {
				due = append(due, d)
			}
		}
		return due, nil
	}
	fake.do = func(_ context.Context, s recordStep) (record.SweepStep, error) {
		if s.Kind != "snapshot" {
			return record.SweepStep{Done: true}, nil
		}
		if s.Snapshot == dueSnapshot(3) {
			return record.SweepStep{}, errors.New("broken")
		}
		fake.mu.Lock()
		defer fake.mu.Unlock()
		left[s.Snapshot]--
		return record.SweepStep{Visited: 1, Recovered: 1}, nil
	}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Records = fake })
	b.awaitJobsOf(t, jobs.RecordSnapshot{}.Kind(), job{"data1", "discarded", "broken"})
	var turns []byte
	for _, s := range fake.asked("snapshot") {
		turns = append(turns, s.Snapshot.Tenant[0])
	}
	if diff := cmp.Diff([]byte{1, 2, 3, 1, 1}, turns); diff != "" {
		t.Errorf("the turns (-want +got):\n%s", diff)
	}
}

func TestRecords_ACleanupGoesOverEveryTaskInEveryNumber(t *testing.T) {
	t.Parallel()
	b := setUp(t, 2)
	fake := &fakeRecords{}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Records = fake })
	b.awaitJobsOf(t, jobs.RecordCleanup{}.Kind(), finished("data1", "data2")...)
	for _, task := range record.CleanupTasks() {
		visits := map[domain.Number]bool{}
		for _, s := range fake.asked(string(task)) {
			visits[s.Number] = true
		}
		if len(visits) != domain.Numbers || len(fake.asked(string(task))) != domain.Numbers {
			t.Errorf("%s: %d numbers were visited", task, len(visits))
		}
	}
}

func TestRecords_ARunCountsTheObjectsOfWhatIsDue(t *testing.T) {
	t.Parallel()
	b := setUp(t, 1)
	fake := &fakeRecords{objects: func(string) ([]domain.Number, error) { return []domain.Number{9, 3}, nil }}
	visits := map[domain.Number]int{}
	fake.do = func(_ context.Context, s recordStep) (record.SweepStep, error) {
		fake.mu.Lock()
		defer fake.mu.Unlock()
		visits[s.Number]++
		return record.SweepStep{Visited: 1, Done: s.Kind != "objects" || s.Number == 9 || visits[s.Number] > 2}, nil
	}
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Records, o.CleanupEvery = fake, time.Hour })
	b.awaitJobsOf(t, jobs.RecordObjects{}.Kind(), finished("data1")...)
	var numbers []domain.Number
	for _, s := range fake.asked("objects") {
		numbers = append(numbers, s.Number)
	}
	if !slices.Equal(numbers[:2], []domain.Number{9, 3}) || slices.Contains(numbers[2:], 9) {
		t.Errorf("the turns are %v", numbers)
	}
}

func TestInsert_WhatTheRecordsNeedIsAskedForOnce(t *testing.T) {
	t.Parallel()
	b := setUp(t, 2)
	inserter := b.inserter(t)
	for kind, ask := range map[string]func(context.Context, ...string) ([]string, error){
		jobs.RecordSnapshot{}.Kind(): inserter.Snapshots,
		jobs.RecordCleanup{}.Kind():  inserter.RecordCleanup,
		jobs.RecordObjects{}.Kind():  inserter.RecordObjects,
	} {
		asked, err := ask(t.Context(), "data2")
		if err != nil || !slices.Equal(asked, []string{"data2"}) {
			t.Errorf("%s: asked of %v, %v", kind, asked, err)
		}
		if asked, err = ask(t.Context(), "data1", "data2"); err != nil || !slices.Equal(asked, []string{"data1"}) {
			t.Errorf("%s: asked again of %v, %v", kind, asked, err)
		}
		if got := b.jobsOf(t, kind); len(got) != 2 {
			t.Errorf("%s: the jobs are %+v", kind, got)
		}
	}
}

// The real domain: a snapshot that was asked for is made, also when nobody asked for
// the job, and its span links to the request that asked for the snapshot.
func TestRecords_TheWorkerMakesASnapshotAndCountsObjects(t *testing.T) {
	t.Parallel()
	b := setUp(t, 3)
	router := b.Router(t, postgres.RoleAPI)
	scope := openTenant(t, router)
	bucket := testkit.OpenBodies(t, testkit.BodyStore(t))
	serving := record.New(router, lease.New(router, oneSecret{}, lease.Options{}), bucket, record.Options{})
	if _, _, err := serving.CreateCollection(t.Context(), scope, record.NewCollection{Name: "orders"}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		p := record.Publication{
			Key: fmt.Sprint(i), OperationID: fmt.Sprint(i), Producer: "test", Bodies: map[string][]byte{"items": []byte("x")},
			Expect: record.Expectation{Absent: true},
		}
		if _, err := serving.Publish(t.Context(), scope, "orders", nil, p); err != nil {
			t.Fatal(err)
		}
	}
	request, span := b.tel.Tracers.Tracer("test").Start(t.Context(), "POST /v1/collections/{collection}/snapshots")
	asked, err := serving.RequestSnapshot(request, scope, "orders", "")
	span.End()
	if err != nil {
		t.Fatal(err)
	}
	worker := b.Router(t, postgres.RoleWorker)
	upkeep := record.New(worker, nil, bucket, record.Options{Purpose: tenancy.Maintain, Tracing: b.tel.Tracers})
	b.runner(t, &fakeIdentity{}, func(o *jobs.Options) { o.Records = upkeep })
	await(t, "the snapshot", func() bool {
		sn, err := serving.Snapshot(t.Context(), scope, "orders", asked.ID)
		return err == nil && sn.State == record.SnapshotComplete
	})
	signed, err := serving.PresignSnapshot(t.Context(), scope, "orders", asked.ID, 0, 0)
	if err != nil || len(signed.Parts) != 1 || signed.Lines != 3 {
		t.Fatalf("%+v, %v", signed, err)
	}
	response, err := http.Get(signed.Parts[0].URL)
	if err != nil || response.StatusCode != http.StatusOK || response.ContentLength != signed.Parts[0].Length {
		t.Fatalf("%+v, %v", response, err)
	}
	response.Body.Close()
	linked := false
	for _, ended := range b.spans.Ended() {
		for _, link := range ended.Links() {
			linked = linked || ended.Name() == "record.snapshot" && link.SpanContext.TraceID() == span.SpanContext().TraceID()
		}
	}
	if !linked {
		t.Error("no span of the work links to the request's trace")
	}
	b.awaitJobsOf(t, jobs.RecordObjects{}.Kind(), finished("data1", "data2", "data3")...)
	progress, err := upkeep.SweepProgress(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	passes := 0
	for _, p := range progress {
		if p.Kind == "objects" && p.OldestPass != nil {
			passes += p.Numbers
		}
	}
	if passes != domain.Numbers {
		t.Errorf("the objects of %d numbers were counted: %+v", passes, progress)
	}
}
