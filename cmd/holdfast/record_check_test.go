package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/domain/lease"
	"github.com/holdfast-dev/holdfast/internal/domain/record"
	"github.com/holdfast-dev/holdfast/internal/postgres"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

const recordHeads = "TENANT  COLLECTIONS  RECORDS  LIVE  TOMBSTONES  BODIES  BYTES  FENCES  BATCHES  CLAIMS  RECEIPTS  VIOLATIONS  UNREACHABLE\n"

// keptRecords are a service with a tenant "acme" that has one collection whose
// bodies are in SQL and one whose bodies are in the store.
func keptRecords(t *testing.T) (s *service, tenant string) {
	t.Helper()
	s = serve(t, "data1", "data2")
	tenant = told[holdfast.Tenant](t, s, "tenant", "create", "acme").ID
	of, err := domain.ParseID[domain.TenantKind](tenant)
	must(t, err)
	scope := tenancy.Scope{Tenant: of, Principal: domain.NewID[domain.PrincipalKind](time.Now()), Name: "tester"}
	router := s.installation.Router(t, postgres.RoleAPI)
	records := record.New(router, lease.New(router, nil, lease.Options{}), testkit.OpenBodies(t, testkit.BodyStore(t)), record.Options{})
	for _, collection := range []string{"ledger", "orders"} {
		_, _, err := records.CreateCollection(t.Context(), scope, record.NewCollection{Name: collection})
		must(t, err)
		for _, key := range []string{"a", "b"} {
			_, err = records.Publish(t.Context(), scope, collection, nil, record.Publication{
				Key: key, OperationID: key, Expect: record.Expectation{Absent: true},
				Bodies: map[string][]byte{"items": []byte("of " + key), "plans": {}},
			})
			must(t, err)
		}
		s.everywhere(t, `UPDATE tenant_gates SET record_format = 2`)
	}
	return s, tenant
}

func (s *service) everywhere(t *testing.T, sql string) {
	t.Helper()
	for _, database := range []string{"data1", "data2"} {
		_, err := s.installation.Admin(t, database).Exec(t.Context(), sql)
		must(t, err)
	}
}

func TestRecordCheck_NamesWhatItFindsInWhichTenant(t *testing.T) {
	t.Parallel()
	s, tenant := keptRecords(t)
	sound := told[holdfast.Tenant](t, s, "tenant", "create", "sound").ID
	environ := slices.Concat(s.installation.Environ(), testkit.BodiesEnviron(testkit.BodyStore(t)))
	const soundRow = "sound   0            0        0     0           0       0      0       0        0       0         0           0\n"
	expectResult(t, execute(t, environ, "record", "check"), exitOK, recordHeads+
		"acme    2            4        8     0           8       16     0       0        0       4         0           0\n"+soundRow, "")
	expectResult(t, execute(t, environ, "record", "check", "--no-bodies", tenant), exitOK, recordHeads+
		"acme    2            4        8     0           0       0      0       0        0       4         0           0\n", "")
	expectResult(t, execute(t, environ, "record", "check", "--collection", "Orders", tenant), exitOK, recordHeads+
		"acme    1            2        4     0           4       8      0       0        0       2         0           0\n", "")

	s.everywhere(t, `UPDATE sections_in_sql SET content = 'is b' WHERE item_key = 'b' AND section = 'items'`)
	for _, args := range [][]string{{"record", "check"}, {"record", "check", tenant}, {"record", "check", "--collection", "ledger", tenant}} {
		got := execute(t, environ, args...)
		want := regexp.MustCompile(`^\nacme:\nbody_corrupt in number \d+ on data[12], collection ledger, record "b", section "items"\n  The body in SQL isn't .*\n\nTENANT .*\nacme .* 1 +0\n`)
		if got.code != exitDiffers || !want.MatchString(got.stdout) || got.stderr != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	expectResult(t, execute(t, environ, "record", "check", "--collection", "orders", tenant), exitOK, recordHeads+
		"acme    1            2        4     0           4       8      0       0        0       2         0           0\n", "")
	got := execute(t, environ, "record", "check", "--json")
	var objects []map[string]any
	for decoder := json.NewDecoder(strings.NewReader(got.stdout)); decoder.More(); {
		var object map[string]any
		must(t, decoder.Decode(&object))
		objects = append(objects, object)
	}
	if len(objects) != 3 || objects[0]["violation"].(map[string]any)["kind"] != "body_corrupt" || objects[0]["tenant_id"] != tenant ||
		objects[1]["census"].(map[string]any)["violations"] != 1.0 || objects[2]["name"] != "sound" || got.code != exitDiffers {
		t.Errorf("with --json: %+v", got)
	}
	expectResult(t, execute(t, environ, "record", "check", sound), exitOK, recordHeads+soundRow, "")
}

func TestRecordCheck_WithoutTheStoreItLeavesBodiesOutOnRequestOnly(t *testing.T) {
	t.Parallel()
	s, tenant := keptRecords(t)
	environ := s.installation.Environ()
	expectResult(t, execute(t, environ, "record", "check"), exitUsage, "",
		"holdfast: acme: bodies are kept in an object store: name it by HOLDFAST_BODIES_ENDPOINT and what goes with it, or leave them out by --no-bodies\n")
	expectResult(t, execute(t, environ, "record", "check", "--no-bodies"), exitOK, recordHeads+
		"acme    2            4        8     0           0       0      0       0        0       4         0           0\n", "")
	expectResult(t, execute(t, environ, "record", "check", "--collection", "orders"), exitUsage, "",
		"holdfast: --collection needs the TENANT whose collection it is\n")
	expectResult(t, execute(t, environ, "record", "check", "--collection", "none", tenant), exitFailed, "",
		"holdfast: acme: There is no collection of this name. (collection_not_found)\n")
}

// What can't be read is told, and neither sound nor wrong.
func TestRecordCheck_ABodyThatCantBeReadIsNoViolation(t *testing.T) {
	t.Parallel()
	s, _ := keptRecords(t)
	forbids := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(forbids.Close)
	store := testkit.BodyStore(t)
	store.Endpoint = forbids.URL
	got := execute(t, slices.Concat(s.installation.Environ(), testkit.BodiesEnviron(store)), "record", "check")
	if got.code != exitFailed || strings.Count(got.stdout, "body_unreachable in number") != 4 || !strings.Contains(got.stdout, " 0           4\n") ||
		got.stderr != "holdfast: 4 bodies couldn't be read, so nobody knows whether they are sound\n" {
		t.Errorf("%+v", got)
	}
}
