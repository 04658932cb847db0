package qualify_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/migration"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/objectstore"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/qualify"
	"github.com/holdfast-dev/holdfast/internal/restore"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// suite is a Suite of a build on an installation of the test's own.
func suite(t *testing.T, in *testkit.Installation, build string, s objectstore.Settings) *qualify.Suite {
	t.Helper()
	router := in.Router(t, postgres.RoleAPI)
	bucket := testkit.OpenBodies(t, s)
	records := record.New(router, nil, bucket, record.Options{})
	control := tenancy.NewStore(router.Control(), tenancy.NewGates(router), nil, time.Now)
	return &qualify.Suite{
		Router: router, Records: records, Store: bucket,
		Migrations: migration.New(router, control, records, migration.Options{Build: build, Place: migration.PlaceOf(s.Endpoint, s.Bucket)}),
		Caller:     tenancy.Scope{Tenant: tenancy.Operators, Scopes: []string{tenancy.OperatorTenants}},
		Commands:   []string{"holdfast qualify"},
	}
}

func failed(q migration.Qualification) (promises []string) {
	for _, o := range q.Observations {
		if !o.Passed {
			promises = append(promises, o.Promise+": "+o.Detail)
		}
	}
	return promises
}

func TestRun_PassesOnASoundInstallation_AndAgain(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 3)
	store := testkit.OwnBucket(t)
	var tenants []string
	for _, build := range []string{"build-1", "build-2"} {
		s := suite(t, in, build, store)
		var seen []migration.Observation
		s.Seen = func(o migration.Observation) { seen = append(seen, o) }
		q, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if f := failed(q); !q.Passed || len(f) > 0 {
			t.Errorf("it didn't pass:\n%s", strings.Join(f, "\n"))
		}
		if diff := cmp.Diff(q.Observations, seen); diff != "" {
			t.Errorf("told (-report +told)\n%s", diff)
		}
		if q.Build != build || len(q.Databases) != 3 || q.Store != migration.PlaceOf(store.Endpoint, store.Bucket) {
			t.Errorf("it is of %s on %v and %v", q.Build, q.Databases, q.Store)
		}
		for way, m := range map[string]migration.Movement{"there": q.Forward, "back": q.Back} {
			if m.Records != 72 || m.Bodies == 0 || m.Bytes < 12*600<<10 || m.LowRecords <= 0 || m.LowRecords > m.HighRecords || m.LowBytes <= 0 || m.LowBytes > m.HighBytes {
				t.Errorf("%s: it moved %+v", way, m)
			}
		}
		for _, o := range q.Observations {
			if strings.Contains(o.Promise, "tenant of qualifications") {
				tenants = append(tenants, o.Detail)
			}
		}
		hash, err := s.Migrations.RecordQualification(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := s.Migrations.Qualification(t.Context(), hash)
		if diff := cmp.Diff(q, kept); err != nil || diff != "" {
			t.Errorf("%v; kept (-made +kept)\n%s", err, diff)
		}
		if left, _, err := s.Store.List(t.Context(), "qualification/", "", 10); err != nil || len(left) != 0 {
			t.Errorf("left in the bucket: %v, %v", left, err)
		}
	}
	if len(tenants) != 2 || tenants[0] != tenants[1] {
		t.Errorf("the tenants are %v", tenants)
	}
}

// listener is told what a reconciliation finds.
type listener struct{ found []string }

func (l *listener) Progress(string)             {}
func (l *listener) Tenant(restore.Tenant) error { return nil }

func (l *listener) Decide(d restore.Decision) error {
	l.found = append(l.found, d.Detail)
	return nil
}

func (l *listener) Note(n restore.Note) error {
	l.found = append(l.found, n.Detail)
	return nil
}

// A restored database's revisions begin at a later era, and what earlier
// qualifications left there is nothing that anybody has to look at.
func TestRun_PassesBehindARestore_WhichHasNothingToSayOfEarlierRuns(t *testing.T) {
	t.Parallel()
	in := testkit.Databases(t, 2)
	store := testkit.OwnBucket(t)
	if q, err := suite(t, in, "build-1", store).Run(t.Context()); err != nil || !q.Passed {
		t.Fatalf("before: %v, %v", err, failed(q))
	}
	in.Backup(t, "data2").PutBack(t)
	owner := in.Router(t, postgres.RoleOwner)
	data2 := owner.Named("data2")
	if _, err := restore.Close(t.Context(), data2, time.Now()); err != nil {
		t.Fatal(err)
	}
	l := &listener{}
	if _, err := restore.New(owner, nil).Reconcile(t.Context(), restore.Request{}, l); err != nil {
		t.Fatal(err)
	}
	if len(l.found) > 0 {
		t.Errorf("the reconciliation has to say: %q", l.found)
	}
	if _, err := restore.Open(t.Context(), owner, data2, time.Now()); err != nil {
		t.Fatal(err)
	}
	q, err := suite(t, in, "build-1", store).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := failed(q); !q.Passed || len(f) > 0 {
		t.Errorf("it didn't pass:\n%s", strings.Join(f, "\n"))
	}
}

func TestRun_ARuleThatDeletesBodiesFailsIt(t *testing.T) {
	t.Parallel()
	store := testkit.OwnBucket(t)
	testkit.SetLifecycle(t, store, testkit.ExpireBelow("tenants/"))
	q, err := suite(t, testkit.Databases(t, 1), "build-1", store).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if f := failed(q); q.Passed || len(f) != 1 || !strings.Contains(f[0], "lifecycle_overlaps") {
		t.Errorf("passed %t; it failed by\n%s", q.Passed, strings.Join(f, "\n"))
	}
}

// A store that gives other bytes than it was given can't pass, and what is behind
// the first failure of a migration isn't tried.
func TestRun_AStoreThatSpoilsBytesFailsIt(t *testing.T) {
	t.Parallel()
	store := testkit.OwnBucket(t)
	faults := testkit.NewStoreFaults(t)
	s := suite(t, testkit.Databases(t, 1), "build-1", faults.Through(store))
	faults.AtRandom(1, 1, func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/tenants/") {
			return pass()
		}
		return testkit.WrongBytes()(r, pass)
	})
	q, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := failed(q)
	if q.Passed || len(f) != 6 || !strings.Contains(f[0], "there: every record is moved") || !strings.Contains(f[0], "object_corrupt") || !strings.Contains(f[1], "not tried") {
		t.Errorf("passed %t; it failed by\n%s", q.Passed, strings.Join(f, "\n"))
	}
}

func TestRun_WithoutAStoreItFails(t *testing.T) {
	t.Parallel()
	s := suite(t, testkit.Databases(t, 1), "build-1", testkit.BodyStore(t))
	s.Store = nil
	q, err := s.Run(t.Context())
	if err != nil || q.Passed || !strings.Contains(strings.Join(failed(q), "\n"), "no object store") {
		t.Errorf("passed %t, %v: %v", q.Passed, err, failed(q))
	}
}
