package identity

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestPoll_AnswersWhatTheDeviceIs(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	tests := []struct {
		name    string
		prepare func(CreatedDevice)
		want    string // "" for tokens
	}{
		{"pending", func(CreatedDevice) {}, tenancy.GrantAuthorizationPending},
		{"polled at once again", func(c CreatedDevice) { d.poll(t.Context(), client, c) }, tenancy.GrantSlowDown},
		{"denied", func(c CreatedDevice) { d.DenyDevice(t.Context(), d.scope, d.guessOf(c, ada)) }, tenancy.GrantAccessDenied},
		{"revoked", func(c CreatedDevice) { d.RevokeDevice(t.Context(), d.scope, c.ID, 1) }, tenancy.GrantInvalidGrant},
		{"approved", func(c CreatedDevice) { d.approve(t, c, ada) }, ""},
		{"approved, right behind another poll", func(c CreatedDevice) { d.poll(t.Context(), client, c); d.approve(t, c, ada) }, ""},
		{"redeemed", func(c CreatedDevice) { d.approve(t, c, ada); d.poll(t.Context(), client, c) }, tenancy.GrantInvalidGrant},
		{"approved, and revoked", func(c CreatedDevice) { d.approve(t, c, ada); d.RevokeDevice(t.Context(), d.scope, c.ID, 2) }, tenancy.GrantInvalidGrant},
		{"expired", func(CreatedDevice) { d.expireCodes(t) }, tenancy.GrantExpiredToken},
		{"approved, and expired", func(c CreatedDevice) { d.approve(t, c, ada); d.expireCodes(t) }, tenancy.GrantExpiredToken},
		{"redeemed, and expired", func(c CreatedDevice) {
			d.approve(t, c, ada)
			d.poll(t.Context(), client, c)
			d.expireCodes(t)
		}, tenancy.GrantInvalidGrant},
	}
	for _, test := range tests {
		device := d.authorize(t, client, test.name)
		test.prepare(device)
		got, err := d.poll(t.Context(), client, device)
		if grantCode(err) != test.want || (test.want == "") != (err == nil) || (got.RefreshToken != "") != (err == nil) {
			t.Errorf("%s: %+v, %v, want %q", test.name, got, err, test.want)
		}
	}
	d.checkInvariants(t, false)
}

// Whoever doesn't know the secret, or is another client, learns nothing, and slows
// nobody down.
func TestPoll_ByAnybodyElse_IsInvalidAndLeavesNoTrace(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client("watch")
	device := d.authorize(t, client, "tv")
	code, _ := parseDeviceCode(device.DeviceCode)
	flipped, unknown := code, code
	flipped.secret[31] ^= 1
	unknown.device = domain.RandomID[domain.DeviceKind]()
	colleague := d.client("watch")
	attempts := func(when string) {
		for name, attempt := range map[string]struct {
			client tenancy.Client
			code   string
		}{
			"another client":    {colleague, device.DeviceCode},
			"another secret":    {client, flipped.String()},
			"an unknown device": {client, unknown.String()},
			"no code":           {client, ""},
			"a user code":       {client, device.UserCode.String()},
			"a damaged code":    {client, device.DeviceCode[:63] + "!"},
		} {
			if _, err := d.PollDevice(t.Context(), attempt.client, attempt.code); err != errInvalidGrant {
				t.Errorf("%s, %s: %v, want %v", when, name, err, errInvalidGrant)
			}
		}
	}
	attempts("pending")
	_, err := d.poll(t.Context(), client, device)
	expectGrant(t, err, tenancy.GrantAuthorizationPending) // as its first poll
	d.approve(t, device, ada)
	attempts("approved")
	if _, err := d.poll(t.Context(), client, device); err != nil {
		t.Error(err)
	}
	attempts("redeemed")
}

// One early poll, then 45 at five seconds with jitter: no endless slow-down.
func TestPoll_OneEarlyOne_Recovers(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{CodeTerm: time.Hour})
	client := d.client()
	device := d.authorize(t, client, "tv")
	pollAfter := func(wait time.Duration) string {
		d.passTime(t, wait)
		_, err := d.poll(t.Context(), client, device)
		return grantCode(err)
	}
	if first, early := pollAfter(0), pollAfter(time.Second); first != tenancy.GrantAuthorizationPending || early != tenancy.GrantSlowDown {
		t.Errorf("the first poll got %s, an early one %s", first, early)
	}
	var answers []string
	for i := range 45 {
		answers = append(answers, pollAfter(5*time.Second+time.Duration(i%3-1)*300*time.Millisecond))
	}
	pending := 0
	for i, answer := range answers {
		switch {
		case answer == tenancy.GrantAuthorizationPending:
			pending++
		case i > 0 && answers[i-1] == answer && i > 1 && answers[i-2] == answer:
			t.Errorf("polls %d to %d got %s", i-1, i+1, answer)
		}
	}
	if pending < 20 {
		t.Errorf("%d of 45 polls got an authorization_pending", pending)
	}
	for _, row := range d.deviceRows(t) {
		if row.pollInterval != 10*time.Second {
			t.Errorf("the interval is %v, want the one step of the one early poll", row.pollInterval)
		}
	}
	// A client that does as it was told is never slowed down again.
	for range 5 {
		if answer := pollAfter(10 * time.Second); answer != tenancy.GrantAuthorizationPending {
			t.Errorf("a poll after ten seconds got %s", answer)
		}
	}
}

// Many devices that poll at once share transactions, which wait for no disk; and
// several polls of one device are each judged.
func TestPolls_ShareTransactionsThatDontWaitForTheDisk(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	traced, recorder := d.traced(t)
	client := d.client()
	devices := make([]CreatedDevice, 64)
	for _, err := range atOnce(len(devices), func(i int) (err error) {
		devices[i], err = d.AuthorizeDevice(t.Context(), client, AuthorizeDevice{})
		return err
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	var errs []error
	all := recorder.during(func() {
		errs = atOnce(3*len(devices), func(i int) error {
			_, err := traced.poll(t.Context(), client, devices[i%len(devices)])
			return err
		})
	})
	answers := map[string]int{}
	for _, err := range errs {
		answers[grantCode(err)]++
	}
	if answers[tenancy.GrantAuthorizationPending] != len(devices) || answers[tenancy.GrantSlowDown] != 2*len(devices) {
		t.Errorf("three polls of each of 64 devices got %v", answers)
	}
	if len(all) > len(errs)/4 {
		t.Errorf("%d polls took %d transactions", len(errs), len(all))
	}
	for _, tx := range all {
		if !tx.unsynced {
			t.Errorf("a poll waits for the disk: %+v", tx)
		}
	}
	for _, row := range d.deviceRows(t) {
		if row.pollInterval != PollInterval+2*paceStep {
			t.Errorf("the interval of %s is %v, want two steps more than at first", row.ID, row.pollInterval)
		}
	}
}
