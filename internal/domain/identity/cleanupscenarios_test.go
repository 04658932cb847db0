package identity

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

// scenario is something whose time comes, and what a task is to make of it.
type scenario struct {
	name  string
	task  CleanupTask
	build func(*testing.T, *workshop)
	term  time.Duration               // from the building until the time has come
	event func(*testing.T, *workshop) // what brings it, where no time does
	first []CleanupTask               // others that must have had their turn
	want  []string
	lives []string // what is left of it after the longest time
}

const minute = time.Minute

// prepare builds the scenario, a minute before its time.
func (sc scenario) prepare(t *testing.T, w *workshop) {
	t.Helper()
	sc.build(t, w)
	if sc.event == nil {
		w.pass(t, sc.term-minute)
	}
}

// ripe lets its time come, and gives the state from which the task begins.
func (sc scenario) ripe(t *testing.T, w *workshop) snapshot {
	t.Helper()
	if sc.event != nil {
		sc.event(t, w)
	} else {
		w.pass(t, 2*minute)
	}
	for _, task := range sc.first {
		w.mustClean(t, task)
	}
	return w.snapshot(t)
}

// everyDevice makes one device of each kind, of ada's where they are anybody's.
func everyDevice(t *testing.T, w *workshop) {
	a := w.account(t, "ada", "")
	w.pending(t, "waiting")
	w.denied(t, "denied", a)
	w.approved(t, "unfetched", a)
	w.fetched(t, "fetched", a)
	w.clientless(t, "clientless", a)
	w.revoked(t, w.approved(t, "revoked", a))
}

var livingDevices = []string{
	"accounts ada", "claims handle of ada ada", "claims handle of ada skeleton/ada",
	"devices fetched", "account_devices ada fetched", "devices clientless", "account_devices ada clientless",
}

var scenarios = []scenario{
	{
		name: "devices that nobody approved or fetched", task: CleanLapsedDevices, build: everyDevice, term: DefaultCodeTerm + expiryGrace,
		want: []string{
			"+ events denied 3 device.removed by holdfast",
			"+ events unfetched 3 device.removed by holdfast",
			"+ events waiting 2 device.removed by holdfast",
			"- account_devices ada unfetched",
			"- claims device-code of denied", "- claims device-code of unfetched", "- claims device-code of waiting",
			"- devices denied", "- devices unfetched", "- devices waiting",
		},
		lives: livingDevices,
	},
	{
		name: "revoked devices", task: CleanRevokedDevices, term: DefaultRetention,
		build: func(t *testing.T, w *workshop) {
			everyDevice(t, w)
			w.revoked(t, w.pending(t, "never in").Device)
			renamed := w.revoked(t, w.fetched(t, "renamed", w.account(t, "ben", "")))
			w.pass(t, time.Hour)
			label := new("renamed since")
			if _, err := w.PatchDevice(t.Context(), w.scope, renamed.ID, renamed.Revision+1, DevicePatch{Label: &label}); err != nil {
				t.Fatal(err)
			}
			w.pass(t, -time.Hour)
		},
		want: []string{
			"+ events never in 3 device.removed by holdfast", "+ events revoked 4 device.removed by holdfast",
			"- account_devices ada revoked",
			"- claims device-code of never in", "- claims device-code of revoked",
			"- devices never in", "- devices revoked",
		},
		lives: append([]string{"accounts ben", "claims handle of ben ben", "claims handle of ben skeleton/ben"}, livingDevices...),
	},
	{
		name: "claims of codes", task: CleanExpiredCodes, build: everyDevice, term: DefaultCodeTerm + expiryGrace,
		want: []string{
			"- claims device-code of clientless", "- claims device-code of denied", "- claims device-code of fetched",
			"- claims device-code of revoked", "- claims device-code of unfetched", "- claims device-code of waiting",
		},
		lives: livingDevices,
	},
	{
		name: "handles of deleted accounts", task: CleanEndedQuarantines, term: DefaultQuarantine,
		build: func(t *testing.T, w *workshop) {
			w.delete(t, w.account(t, "ada", "ada@example.com"))
			w.pass(t, time.Hour)
			w.delete(t, w.account(t, "ben", "ben@example.com"))
			w.account(t, "cyn", "cyn@example.com")
			w.pass(t, -time.Hour)
		},
		want: []string{
			"- claims handle of ada ada", "- claims handle of ada skeleton/ada",
			"~ accounts ada: handle handle_key handle_token quarantined_until skeleton_key skeleton_token",
		},
		lives: []string{"accounts cyn", "claims email of cyn cyn@example.com", "claims handle of cyn cyn", "claims handle of cyn skeleton/cyn"},
	},
	{
		name: "devices of deleted accounts", task: CleanDevicesOfDeleted,
		build: func(t *testing.T, w *workshop) {
			everyDevice(t, w)
			a, b := w.lookupHandle(t, "ada"), w.account(t, "ben", "")
			w.dyingApproval(t, "device linked", w.pending(t, "halfway"), a)
			others := w.pending(t, "ben's")
			w.dyingApproval(t, "device linked", others, a)
			w.approve(t, others, b)
			never := &linking{account: a.ID, device: domain.NewID[domain.DeviceKind](time.Now())}
			if err := w.linkDevice(t.Context(), w.scope.Tenant, never); err != nil {
				t.Fatal(err)
			}
			w.names[never.device.String()] = "never was"
		},
		event: func(t *testing.T, w *workshop) { w.delete(t, w.lookupHandle(t, "ada")) },
		want: []string{
			"+ events clientless 3 device.removed by holdfast", "+ events fetched 4 device.removed by holdfast",
			"+ events halfway 2 device.denied by holdfast",
			"+ events revoked 4 device.removed by holdfast", "+ events unfetched 3 device.removed by holdfast",
			"- account_devices ada ben's", "- account_devices ada clientless", "- account_devices ada fetched",
			"- account_devices ada halfway", "- account_devices ada never was", "- account_devices ada revoked", "- account_devices ada unfetched",
			"- claims device-code of clientless", "- claims device-code of fetched", "- claims device-code of revoked", "- claims device-code of unfetched",
			"- devices clientless", "- devices fetched", "- devices revoked", "- devices unfetched",
			"~ accounts ada: devices_removed_at",
			"~ devices halfway: revision status updated_at",
		},
		lives: []string{"accounts ben", "claims handle of ben ben", "claims handle of ben skeleton/ben"},
	},
	{
		name: "tombstones", task: CleanTombstones, term: DefaultRetention,
		first: []CleanupTask{CleanEndedQuarantines, CleanDevicesOfDeleted, CleanOldEvents},
		build: func(t *testing.T, w *workshop) {
			w.delete(t, w.account(t, "ada", "ada@example.com"))
			w.pass(t, time.Hour)
			w.delete(t, w.account(t, "ben", ""))
			w.account(t, "cyn", "")
			w.pass(t, -time.Hour)
		},
		want:  []string{"- accounts ada"},
		lives: []string{"accounts cyn", "claims handle of cyn cyn", "claims handle of cyn skeleton/cyn"},
	},
	{
		name: "links whose approval died", task: CleanDoubtfulLinks, term: linkGrace,
		build: func(t *testing.T, w *workshop) {
			a, b := w.account(t, "ada", ""), w.account(t, "ben", "")
			w.dyingApproval(t, "device approved", w.pending(t, "hers"), a)
			former := w.pending(t, "formerly hers")
			w.dyingApproval(t, "device approved", former, a)
			w.revoked(t, former.Device)
			w.dyingApproval(t, "device linked", w.pending(t, "waiting"), a)
			others := w.pending(t, "ben's")
			w.dyingApproval(t, "device linked", others, a)
			w.approve(t, others, b)
			denied := w.pending(t, "denied")
			w.dyingApproval(t, "device linked", denied, a)
			if _, err := w.DenyDevice(t.Context(), w.scope, w.guessOf(denied, a)); err != nil {
				t.Fatal(err)
			}
			never := &linking{account: a.ID, device: domain.NewID[domain.DeviceKind](time.Now())}
			if err := w.linkDevice(t.Context(), w.scope.Tenant, never); err != nil {
				t.Fatal(err)
			}
			w.names[never.device.String()] = "never was"
		},
		want: []string{
			"- account_devices ada ben's", "- account_devices ada denied", "- account_devices ada never was",
			"~ account_devices ada formerly hers: confirmed", "~ account_devices ada hers: confirmed",
		},
		lives: []string{
			"accounts ada", "claims handle of ada ada", "claims handle of ada skeleton/ada",
			"accounts ben", "claims handle of ben ben", "claims handle of ben skeleton/ben",
		},
	},
	{
		name: "links to devices that nobody can approve any more", task: CleanDoubtfulLinks, term: DefaultCodeTerm + linkGrace,
		build: func(t *testing.T, w *workshop) {
			w.dyingApproval(t, "device linked", w.pending(t, "waiting"), w.account(t, "ada", ""))
		},
		want:  []string{"- account_devices ada waiting"},
		lives: []string{"accounts ada", "claims handle of ada ada", "claims handle of ada skeleton/ada"},
	},
	{
		name: "email changes", task: CleanExpiredChanges, term: emailChangeTerm + expiryGrace,
		build: func(t *testing.T, w *workshop) {
			begin := func(handle string) {
				a := w.account(t, handle, "")
				if _, err := w.BeginEmailChange(t.Context(), w.scope, a.ID, BeginEmailChange{Email: handle + "@example.com"}); err != nil {
					t.Fatal(err)
				}
			}
			begin("ada")
			w.pass(t, time.Hour)
			begin("ben")
			w.pass(t, -time.Hour)
		},
		want: []string{"- email_changes ada"},
		lives: []string{
			"accounts ada", "claims handle of ada ada", "claims handle of ada skeleton/ada",
			"accounts ben", "claims handle of ben ben", "claims handle of ben skeleton/ben",
		},
	},
	{
		name: "guesses", task: CleanOldGuesses, term: guessWindow,
		build: func(t *testing.T, w *workshop) {
			guess := func(handle string) {
				_, err := w.LookupCode(t.Context(), w.scope, CodeGuess{UserCode: "BBBB-BBBB", Account: w.account(t, handle, "").ID})
				expectCode(t, err, domain.KindNotFound, "user_code_not_found")
			}
			guess("ada")
			w.everywhere(t, `DELETE FROM code_guesses WHERE subject = '00000000-0000-0000-0000-000000000000'`) // in a number of chance
			w.pass(t, time.Minute*5)
			guess("ben")
			w.pass(t, -time.Minute*5)
		},
		want: []string{"- code_guesses ada"},
		lives: []string{
			"accounts ada", "claims handle of ada ada", "claims handle of ada skeleton/ada",
			"accounts ben", "claims handle of ben ben", "claims handle of ben skeleton/ben",
		},
	},
	{
		name: "events", task: CleanOldEvents, term: DefaultRetention,
		build: func(t *testing.T, w *workshop) {
			a := w.account(t, "ada", "")
			w.approved(t, "screen", a)
			w.pass(t, time.Hour)
			w.setStatus(t, a, Disabled)
			w.pass(t, -time.Hour)
		},
		want: []string{
			"- events ada 1 account.created by principal",
			"- events screen 1 device.created by client", "- events screen 2 device.approved by principal",
		},
		lives: []string{"accounts ada", "claims handle of ada ada", "claims handle of ada skeleton/ada"},
	},
}
