package identity

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestRefresh_TurnsTheTokenAndNothingElse(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client("watch")
	device, tokens := d.redeemed(t, client, "tv", ada)
	before, err := d.GetDevice(t.Context(), d.scope, device.ID)
	if err != nil {
		t.Fatal(err)
	}
	seen := []string{tokens.RefreshToken}
	for range 5 {
		next, err := d.refresh(t.Context(), client, seen[len(seen)-1])
		if err != nil || next.Device != device.ID || next.Account != ada.ID || slices.Contains(seen, next.RefreshToken) {
			t.Fatalf("got %+v, %v", next, err)
		}
		seen = append(seen, next.RefreshToken)
	}
	after, err := d.GetDevice(t.Context(), d.scope, device.ID)
	if diff := cmp.Diff(before, after, cmp.AllowUnexported(UserCode{})); diff != "" || err != nil {
		t.Errorf("%v (-before +after)\n%s", err, diff)
	}
	if now := d.deviceLine(t, device.ID); now != "tv approved rev 3 of ada, redeemed, token 6" {
		t.Errorf("the device is %q", now)
	}
	d.checkInvariants(t, true)
}

// expectReused says that the device has been revoked, by its client, and gives
// nothing more: not even for its last token.
func (d *directory) expectReused(t testing.TB, client tenancy.Client, device domain.DeviceID, last string) {
	t.Helper()
	got, err := d.GetDevice(t.Context(), d.scope, device)
	if err != nil || got.Status != DeviceRevoked || got.Revision != 4 {
		t.Errorf("the device is %+v, %v, want it revoked", got, err)
	}
	_, err = d.refresh(t.Context(), client, last)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	for _, e := range d.eventRows(t) {
		if e.Record == domain.RecordID(device) && e.Revision == 4 && (e.Kind != DeviceWasRevoked || e.Actor != clientActor(client)) {
			t.Errorf("the last event is %+v", e)
		}
	}
}

func TestRefresh_OfASpentToken_RevokesTheDevice(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	for generation := range 3 { // which of those before the last
		device, tokens := d.redeemed(t, client, numbered("tv-%d", generation), ada)
		chain := []string{tokens.RefreshToken}
		for range 3 {
			next, err := d.refresh(t.Context(), client, chain[len(chain)-1])
			if err != nil {
				t.Fatal(err)
			}
			chain = append(chain, next.RefreshToken)
		}
		_, err := d.refresh(t.Context(), client, chain[generation])
		expectGrant(t, err, tenancy.GrantInvalidGrant)
		d.expectReused(t, client, device.ID, chain[3])
	}
	d.checkInvariants(t, true)
}

func TestRefresh_AtOnceWithOneToken_OneWins_AndTheChainEnds(t *testing.T) {
	t.Parallel()
	refreshRace(t, newDirectory(t, Options{}))
}

func refreshRace(t *testing.T, d *directory) {
	ada, client := d.create(t, "ada", ""), d.client()
	device, tokens := d.redeemed(t, client, "tv", ada)
	all := make([]Redeemed, 8)
	var last string
	for i, err := range atOnce(len(all), func(i int) (err error) {
		all[i], err = d.refresh(t.Context(), client, tokens.RefreshToken)
		return err
	}) {
		switch {
		case err != nil:
			expectGrant(t, err, tenancy.GrantInvalidGrant)
		case last != "":
			t.Error("the token was turned twice")
		default:
			last = all[i].RefreshToken
		}
	}
	if last == "" {
		t.Fatal("nobody turned the token")
	}
	d.expectReused(t, client, device.ID, last)
	d.checkInvariants(t, true)
}

// Only who has had a token can end its device by it: a guess ends nothing.
func TestRefresh_OfWhatWasNeverAToken_ChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	_, tokens := d.redeemed(t, client, "tv", ada)
	second, err := d.refresh(t.Context(), client, tokens.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	before := d.state(t)
	last, _ := parseRefreshToken(second.RefreshToken)
	first, _ := parseRefreshToken(tokens.RefreshToken)
	flipped, forged, ahead, far, unknown := last, first, last, last, last
	flipped.secret[0] ^= 1
	forged.secret[31] ^= 1
	ahead.generation++
	far.generation = 1 << 62
	unknown.device = domain.RandomID[domain.DeviceKind]()
	texts := map[string]string{"flipped": flipped.String(), "forged": forged.String(), "ahead": ahead.String(), "far ahead": far.String(),
		"of no device": unknown.String(), "empty": "", "not a token": "x", "damaged": second.RefreshToken[:74] + "!"}
	for name, text := range texts {
		if _, err := d.refresh(t.Context(), client, text); err != errInvalidGrant {
			t.Errorf("%s: %v, want %v", name, err, errInvalidGrant)
		}
		if err := d.RevokeRefreshToken(t.Context(), client, text); err != nil {
			t.Errorf("revoke %s: %v", name, err)
		}
	}
	colleague := d.client()
	for _, text := range []string{tokens.RefreshToken, second.RefreshToken} { // spent, and good
		if _, err := d.refresh(t.Context(), colleague, text); err != errInvalidGrant {
			t.Errorf("another client's: %v, want %v", err, errInvalidGrant)
		}
		if err := d.RevokeRefreshToken(t.Context(), colleague, text); err != nil {
			t.Errorf("revoke another client's: %v", err)
		}
	}
	d.expectState(t, before)
	if _, err := d.refresh(t.Context(), client, second.RefreshToken); err != nil {
		t.Error(err)
	}
}

func TestRefresh_DiesWithItsDeviceItsAccountAndItsTime(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	client := d.client()
	tests := map[string]struct {
		act   func(Account, domain.DeviceID)
		state string
		back  func(Account) // what brings it back, if anything
	}{
		"revoked": {func(_ Account, id domain.DeviceID) { d.RevokeDevice(t.Context(), d.scope, id, 3) }, "revoked rev 4", nil},
		"deleted": {func(a Account, _ domain.DeviceID) { d.Delete(t.Context(), d.scope, a.ID, 1) }, "revoked rev 4", nil},
		"expired": {func(_ Account, id domain.DeviceID) {
			d.everywhere(t, `UPDATE devices SET refresh_expires_at = refresh_expires_at - interval '30 days' WHERE device_id = $1`, id)
		}, "approved rev 3", nil},
		"removed": {func(_ Account, id domain.DeviceID) { d.everywhere(t, `DELETE FROM devices WHERE device_id = $1`, id) }, "", nil},
		"disabled": {func(a Account, _ domain.DeviceID) { d.setStatus(t, a, Disabled) }, "approved rev 3",
			func(a Account) { d.setStatus(t, a, Active) }},
	}
	for name, test := range tests {
		account := d.create(t, "owner-of-"+name, "")
		device, tokens := d.redeemed(t, client, name, account)
		test.act(account, device.ID)
		for range 2 {
			_, err := d.refresh(t.Context(), client, tokens.RefreshToken)
			if grantCode(err) != tenancy.GrantInvalidGrant {
				t.Errorf("%s: %v, want %s", name, err, tenancy.GrantInvalidGrant)
			}
		}
		want := name + " " + test.state + " of owner-of-" + name + ", redeemed, token 1"
		if now := d.deviceLine(t, device.ID); test.state != "" && now != want {
			t.Errorf("%s: the device is %q, want %q", name, now, want)
		}
		if test.back == nil {
			continue
		}
		test.back(account)
		if _, err := d.refresh(t.Context(), client, tokens.RefreshToken); err != nil {
			t.Errorf("%s, and back: %v", name, err)
		}
	}
}

func TestRefresh_LivesThirtyDaysFromEachTurn(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	_, tokens := d.redeemed(t, client, "tv", ada)
	left := func() time.Duration { return time.Until(*d.deviceRows(t)[0].refresh.expiresAt).Round(time.Hour) }
	if got := left(); got != DefaultRefreshTerm {
		t.Errorf("the first lives %v", got)
	}
	d.everywhere(t, `UPDATE devices SET refresh_expires_at = refresh_expires_at - interval '29 days'`)
	if _, err := d.refresh(t.Context(), client, tokens.RefreshToken); err != nil {
		t.Fatal(err)
	}
	if got := left(); got != DefaultRefreshTerm {
		t.Errorf("the next lives %v", got)
	}
}

func TestRefresh_NarrowsTheAccessTokenAlone(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client("play", "rate", "watch")
	device, err := d.AuthorizeDevice(t.Context(), client, AuthorizeDevice{Scopes: []string{"watch", "play"}})
	if err != nil {
		t.Fatal(err)
	}
	d.approve(t, device, ada)
	tokens, err := d.poll(t.Context(), client, device)
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range [][]string{{"rate"}, {"play", "rate"}, {"play", "pay"}, {""}} { // the token is good after each
		_, err := d.refresh(t.Context(), client, tokens.RefreshToken, asked...)
		if expectGrant(t, err, tenancy.GrantInvalidScope); t.Failed() {
			t.Errorf("asked for %v", asked)
		}
	}
	for _, test := range []struct{ asked, want []string }{
		{[]string{"watch"}, []string{"watch"}},
		{[]string{"watch", "play", "watch"}, []string{"play", "watch"}},
		{nil, []string{"play", "watch"}},
	} {
		if tokens, err = d.refresh(t.Context(), client, tokens.RefreshToken, test.asked...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, tokens.Scopes); diff != "" {
			t.Errorf("asked for %v (-want +got)\n%s", test.asked, diff)
		}
	}
}

// What happens between the look at the account and the turn.
func TestRefresh_MeetsAChangeMidway(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, bob, client := d.create(t, "ada", ""), d.create(t, "bob", ""), d.client()
	var device CreatedDevice
	var tokens Redeemed
	tests := map[string]struct {
		act   func()
		state string
	}{
		"turned":  {func() { d.refresh(t.Context(), client, tokens.RefreshToken) }, "revoked rev 4 of ada, redeemed, token 2"},
		"revoked": {func() { d.RevokeDevice(t.Context(), d.scope, device.ID, 3) }, "revoked rev 4 of ada, redeemed, token 1"},
		"expired": {func() {
			d.everywhere(t, `UPDATE devices SET refresh_expires_at = refresh_expires_at - interval '30 days' WHERE device_id = $1`, device.ID)
		}, "approved rev 3 of ada, redeemed, token 1"},
		"another's": {func() { d.everywhere(t, `UPDATE devices SET account_id = $1 WHERE device_id = $2`, bob.ID, device.ID) },
			"approved rev 3 of bob, redeemed, token 1"}, // whom nobody has asked
		"removed": {func() { d.everywhere(t, `DELETE FROM devices WHERE device_id = $1`, device.ID) }, ""},
	}
	for name, test := range tests {
		device, tokens = d.redeemed(t, client, name, ada)
		slow := d.with(Options{Faults: &pauseAt{point: "device refreshable", act: test.act}})
		_, err := slow.refresh(t.Context(), client, tokens.RefreshToken)
		if grantCode(err) != tenancy.GrantInvalidGrant {
			t.Errorf("%s: %v, want %s", name, err, tenancy.GrantInvalidGrant)
		}
		if now := d.deviceLine(t, device.ID); test.state != "" && now != name+" "+test.state {
			t.Errorf("%s: the device is %q", name, now)
		}
	}
}

func TestRefresh_AnswerLost_IsUnknown_AndTheRetryEndsTheChain(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	r := d.remote(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	device, tokens := d.redeemed(t, client, "tv", ada)
	r.network.CutAfter(t, rotateCommit)
	_, err := r.refresh(t.Context(), client, tokens.RefreshToken)
	expectCode(t, err, domain.KindOutcomeUnknown, "outcome_unknown")
	if now := d.deviceLine(t, device.ID); now != "tv approved rev 3 of ada, redeemed, token 2" {
		t.Errorf("the device is %q", now)
	}
	_, err = r.refresh(t.Context(), client, tokens.RefreshToken)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	d.expectReused(t, client, device.ID, tokens.RefreshToken)
}

// A chain keeps to its server key, so that spent tokens are told. When that key is
// taken away the chain goes on under another; its spent tokens are then nobody's.
func TestRefresh_OutlivesItsServerKey(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	under := func(k keyring) *directory {
		other := *d
		other.Service = New(d.router, k, Options{})
		return &other
	}
	turn := func(k keyring, token string) string {
		t.Helper()
		next, err := under(k).refresh(t.Context(), client, token)
		if err != nil {
			t.Fatal(err)
		}
		return next.RefreshToken
	}
	old, both, fresh := keyring{current: "old"}, keyring{"new", []string{"old"}}, keyring{current: "new"}
	device, tokens := under(old).redeemed(t, client, "first", ada)
	second := turn(both, tokens.RefreshToken)
	_, err := under(both).refresh(t.Context(), client, tokens.RefreshToken)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	under(both).expectReused(t, client, device.ID, second)

	device, tokens = under(old).redeemed(t, client, "second", ada)
	second = turn(both, tokens.RefreshToken)
	third := turn(fresh, second)
	_, err = under(fresh).refresh(t.Context(), client, second)
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	fourth := turn(fresh, third)
	_, err = under(fresh).refresh(t.Context(), client, third) // of the new key: told
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	under(fresh).expectReused(t, client, device.ID, fourth)
}

// Once its device has ended, a token is nobody's, and not one that was reused.
func TestStandingOfATokenInItsChain(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada, client := d.create(t, "ada", ""), d.client()
	device, tokens := d.redeemed(t, client, "tv", ada)
	next, err := d.refresh(t.Context(), client, tokens.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := parseRefreshToken(tokens.RefreshToken)
	second, _ := parseRefreshToken(next.RefreshToken)
	expect := func(when string, client tenancy.Client, ofFirst, ofSecond refreshStanding) {
		row := d.deviceRow(t, device.ID)
		if f, s := d.standingOf(client, row, first), d.standingOf(client, row, second); f != ofFirst || s != ofSecond {
			t.Errorf("%s: the tokens' standings are %v and %v, want %v and %v", when, f, s, ofFirst, ofSecond)
		}
	}
	expect("turned once", client, spentToken, currentToken)
	expect("for another client", d.client(), unknownToken, unknownToken)
	if err := d.RevokeDevice(t.Context(), d.scope, device.ID, 3); err != nil {
		t.Fatal(err)
	}
	expect("revoked", client, unknownToken, unknownToken)
}
