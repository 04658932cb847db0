package identity

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/postgres"
)

// workshop is a directory that is served and cleaned up, and where time passes as
// the test wants.
type workshop struct {
	*directory
	workers   *postgres.Router
	admins    []*pgxpool.Pool // as the superuser
	pageLimit int
	passes    int
	names     map[string]string // of the test's records, by id
}

func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	d := newDirectory(t, Options{})
	w := &workshop{directory: d, workers: d.in.Router(t, postgres.RoleWorker), pageLimit: 10, passes: 2}
	for _, db := range d.router.Databases() {
		w.admins = append(w.admins, d.in.Admin(t, db.Name))
	}
	return w.forTenant(t)
}

// forTenant is the workshop of a new tenant, whose policy claims skeletons.
func (w *workshop) forTenant(t *testing.T) *workshop {
	t.Helper()
	own := *w
	own.directory = w.with(Options{})
	own.scope = w.newTenant(t, "unicode")
	own.names = map[string]string{domain.RecordID{}.String(): "the tenant"}
	return &own
}

// worker is a process of the worker's.
func (w *workshop) worker(options Options) *Service {
	return New(w.workers, testSecrets("server"), options)
}

// clean takes a task through its passes over the tenant's numbers, or up to its
// first failure.
func (w *workshop) clean(t *testing.T, s *Service, task CleanupTask) error {
	for range w.passes {
		for number, database := range w.numbers(t) {
			for {
				step, err := s.Cleanup(t.Context(), database, task, number, w.pageLimit)
				if err != nil {
					return err
				}
				if step.Done || step.Busy {
					break
				}
			}
		}
	}
	return nil
}

func (w *workshop) mustClean(t *testing.T, task CleanupTask) {
	t.Helper()
	if err := w.clean(t, w.worker(Options{}), task); err != nil {
		t.Fatalf("%s: %v", task, err)
	}
}

// cleanAll takes every task through a pass over every number, of all tenants.
func (w *workshop) cleanAll(t *testing.T) {
	s := w.worker(Options{})
	for n := range domain.Number(domain.Numbers) {
		for _, task := range CleanupTasks() {
			for {
				step, err := s.Cleanup(t.Context(), w.router.Database(n).Name, task, n, w.pageLimit)
				if err != nil {
					t.Errorf("%s in %d: %v", task, n, err)
				}
				if err != nil || step.Done || step.Busy {
					break
				}
			}
		}
	}
}

// cleanedTables are all tables that hold what is a tenant's, and what names a
// row.
var cleanedTables = map[string]string{
	"accounts": "account_id", "devices": "device_id", "account_devices": "account_id device_id",
	"claims": "family owner_id key", "operations": "family record_id", "email_changes": "account_id",
	"code_guesses": "subject", "events": "record_id revision kind actor_kind",
}

// everywhere runs a statement on every data database.
func (w *workshop) everywhere(t *testing.T, sql string, args ...any) {
	t.Helper()
	for _, admin := range w.admins {
		if _, err := admin.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
}

// gather reads rows of every data database.
func gather[T any](t *testing.T, w *workshop, sql string, scan pgx.RowToFunc[T], args ...any) (all []T) {
	t.Helper()
	for _, admin := range w.admins {
		rows, _ := admin.Query(t.Context(), sql, args...)
		some, err := pgx.CollectRows(rows, scan)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, some...)
	}
	return all
}

// numbers are those where the tenant has anything, with their databases.
func (w *workshop) numbers(t *testing.T) map[domain.Number]string {
	t.Helper()
	sql := `SELECT number FROM event_counters WHERE tenant_id = $1`
	for table := range cleanedTables {
		sql += ` UNION SELECT number FROM ` + table + ` WHERE tenant_id = $1`
	}
	found := map[domain.Number]string{}
	for _, n := range gather(t, w, sql, pgx.RowTo[domain.Number], w.scope.Tenant) {
		found[n] = w.router.Database(n).Name
	}
	return found
}

// pass lets time pass for the tenant: whatever has a time is older by so much.
func (w *workshop) pass(t *testing.T, by time.Duration) {
	t.Helper()
	times := map[string][]string{} // by table
	rows, _ := w.admins[0].Query(t.Context(), `
SELECT table_name::text, format('%1$I = %1$I - $2::interval', column_name) FROM information_schema.columns
 WHERE table_schema = 'public' AND data_type = 'timestamp with time zone'`)
	var table, set string
	if _, err := pgx.ForEachRow(rows, []any{&table, &set}, func() error {
		times[table] = append(times[table], set)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for table, sets := range times {
		if cleanedTables[table] != "" {
			w.everywhere(t, `UPDATE `+table+` SET `+strings.Join(sets, ", ")+` WHERE tenant_id = $1`, w.scope.Tenant, by)
		}
	}
}

// erase takes the tenant's rows out of the way of the next one's.
func (w *workshop) erase(t *testing.T) {
	t.Helper()
	for table := range cleanedTables {
		w.everywhere(t, `DELETE FROM `+table+` WHERE tenant_id = $1`, w.scope.Tenant)
	}
}

// account makes an account and names it by its handle.
func (w *workshop) account(t *testing.T, handle, email string) Account {
	t.Helper()
	a := w.create(t, handle, email)
	w.names[a.ID.String()] = handle
	return a
}

// delete leaves an account's tombstone.
func (w *workshop) delete(t *testing.T, a Account) {
	t.Helper()
	now, err := w.Get(t.Context(), w.scope, a.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), w.scope, a.ID, now.Revision); err != nil {
		t.Fatal(err)
	}
}

// pending begins a device flow and names the device by its label.
func (w *workshop) pending(t *testing.T, label string) CreatedDevice {
	t.Helper()
	client := w.client("read")
	device := w.authorize(t, client, label)
	w.names[device.ID.String()] = label
	return device
}

// approved lets a new device in, which has yet to fetch its tokens.
func (w *workshop) approved(t *testing.T, label string, a Account) Device {
	t.Helper()
	return w.approve(t, w.pending(t, label), a)
}

// fetched lets a new device in, and it has its tokens.
func (w *workshop) fetched(t *testing.T, label string, a Account) Device {
	t.Helper()
	device, _ := w.redeemed(t, w.client("read"), label, a)
	w.names[device.ID.String()] = label
	return device.Device
}

// clientless lets in a device that has nothing to fetch.
func (w *workshop) clientless(t *testing.T, label string, a Account) Device {
	t.Helper()
	device, err := w.CreateDevice(t.Context(), w.scope, CreateDevice{Label: &label})
	if err != nil {
		t.Fatal(err)
	}
	w.names[device.ID.String()] = label
	return w.approve(t, device, a)
}

func (w *workshop) denied(t *testing.T, label string, a Account) {
	t.Helper()
	if _, err := w.DenyDevice(t.Context(), w.scope, w.guessOf(w.pending(t, label), a)); err != nil {
		t.Fatal(err)
	}
}

func (w *workshop) revoked(t *testing.T, device Device) Device {
	t.Helper()
	now, err := w.GetDevice(t.Context(), w.scope, device.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.RevokeDevice(t.Context(), w.scope, now.ID, now.Revision); err != nil {
		t.Fatal(err)
	}
	return now
}

// dyingApproval approves a device in a process that dies at a point.
func (w *workshop) dyingApproval(t *testing.T, point string, device CreatedDevice, a Account) {
	t.Helper()
	dying := w.with(Options{Faults: &crashAt{point: point, nth: 1}})
	if _, err := dying.ApproveDevice(t.Context(), w.scope, w.guessOf(device, a)); !errors.Is(err, errCrash) {
		t.Fatalf("the approval did not die: %v", err)
	}
}

func (w *workshop) lookupHandle(t *testing.T, handle string) Account {
	t.Helper()
	a, err := w.LookupHandle(t.Context(), w.scope, handle)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
