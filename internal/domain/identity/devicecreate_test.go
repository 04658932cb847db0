package identity

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

func TestCreateDevice_WaitsForItsCode(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	client, label := d.client("play", "watch"), "tv"
	got, err := d.CreateDevice(t.Context(), d.scope, CreateDevice{Label: &label, Client: client, Scopes: []string{"watch", "watch"}})
	if err != nil {
		t.Fatal(err)
	}
	code, ok := parseDeviceCode(got.DeviceCode)
	if !ok || code.device != got.ID || len(got.UserCode.Key()) != 8 {
		t.Errorf("the codes are %q and %q", got.DeviceCode, got.UserCode)
	}
	if term := got.ExpiresAt.Sub(got.CreatedAt); term > DefaultCodeTerm || term < DefaultCodeTerm-DefaultDeadline {
		t.Errorf("the code lives %v, want 15 minutes from the preparation on", term)
	}
	want := Device{ID: got.ID, Revision: 1, Status: DevicePending, Label: &label, Client: client.ID, Scopes: []string{"watch"},
		UserCode: got.UserCode, ExpiresAt: got.ExpiresAt, CreatedAt: got.CreatedAt, UpdatedAt: got.CreatedAt}
	read, err := d.GetDevice(t.Context(), d.scope, got.ID)
	if diff := cmp.Diff([]Device{want, want}, []Device{got.Device, read}, cmp.AllowUnexported(UserCode{})); diff != "" || err != nil {
		t.Errorf("created and read: %v (-want +got)\n%s", err, diff)
	}
	d.expectState(t, state{
		Devices: []string{"tv pending rev 1"},
		Claims:  []string{"device-code code of tv"},
		Events:  []string{"tv 1 device.created by principal [client_id label scopes status]"},
	})
	for _, device := range d.deviceRows(t) {
		if string(device.secretHash) == string(code.secret[:]) {
			t.Error("the secret itself is stored")
		}
	}
	d.checkInvariants(t, true)
}

func TestCreateDevice_WithoutAClient_IsForTheApplicationAlone(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	label := "console"
	got, err := d.CreateDevice(t.Context(), d.scope, CreateDevice{Label: &label})
	if err != nil || got.DeviceCode != "" || got.UserCode.IsZero() {
		t.Fatalf("got %+v, %v, want a user code and no device code", got, err)
	}
	// No code redeems it: not one of a client without an id, nor one of no octets.
	_, err = d.PollDevice(t.Context(), tenancy.Client{Tenant: d.scope.Tenant}, deviceCode{device: got.ID}.String())
	expectGrant(t, err, tenancy.GrantInvalidGrant)
	if approved := d.approve(t, got, ada); approved.Account != ada.ID || approved.Status != DeviceApproved {
		t.Errorf("approved: %+v", approved)
	}
}

func TestCreateDevice_Repeated_ShowsTheSameCodes(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	client, label := d.client("play", "watch"), "tv"
	req := CreateDevice{Label: &label, Client: client, IdempotencyKey: "k"}
	first, err := d.CreateDevice(t.Context(), d.scope, req)
	if err != nil || first.Replayed {
		t.Fatalf("replayed %v, %v", first.Replayed, err)
	}
	d.approve(t, first, d.create(t, "ada", ""))
	again, err := d.CreateDevice(t.Context(), d.scope, req)
	if err != nil || !again.Replayed || again.ID != first.ID || again.DeviceCode != first.DeviceCode ||
		again.UserCode != first.UserCode || again.Status != DeviceApproved {
		t.Errorf("the retry got %+v, %v, want the device as it is, with its codes", again, err)
	}
	other := "other"
	for name, another := range map[string]CreateDevice{
		"label":  {Label: &other, Client: client, IdempotencyKey: "k"},
		"client": {Label: &label, IdempotencyKey: "k"},
		"scopes": {Label: &label, Client: client, Scopes: []string{"watch"}, IdempotencyKey: "k"},
	} {
		_, err := d.CreateDevice(t.Context(), d.scope, another)
		if expectCode(t, err, domain.KindInvalid, "idempotency_key_reused"); t.Failed() {
			t.Errorf("with another %s", name)
		}
	}
	colleague := d.scope
	colleague.Principal = domain.NewID[domain.PrincipalKind](time.Now())
	theirs, err := d.CreateDevice(t.Context(), colleague, req)
	if err != nil || theirs.Replayed || theirs.ID == first.ID {
		t.Errorf("another principal's request with that key got %+v, %v", theirs, err)
	}
	d.checkInvariants(t, true)
}

func TestCreateDevice_Repeated_WithTheServerKeyGone_SaysSo(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	req := CreateDevice{Client: d.client(), IdempotencyKey: "k"}
	if _, err := d.CreateDevice(t.Context(), d.scope, req); err != nil {
		t.Fatal(err)
	}
	later := d.with(Options{})
	later.Service = New(d.router, keyring{current: "new"}, Options{})
	_, err := later.CreateDevice(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindUnavailable, "server_key_missing")
}

// keyring derives from one of several server keys.
type keyring struct {
	current string
	older   []string
}

func (k keyring) Derive(parts ...string) ([]byte, string) {
	return domain.DeriveSecret([]byte(k.current), parts...), k.current
}

func (k keyring) DeriveWith(keyID string, parts ...string) ([]byte, bool) {
	for _, id := range append(k.older, k.current) {
		if id == keyID {
			return domain.DeriveSecret([]byte(id), parts...), true
		}
	}
	return nil, false
}

func TestCreateDevice_BesideAnotherRequestWithItsKey(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	label := "tv"
	req := CreateDevice{Label: &label, Client: d.client(), IdempotencyKey: "k"}
	dying := d.with(Options{Faults: &crashAt{point: "device claimed", nth: 1}})
	if _, err := dying.CreateDevice(t.Context(), d.scope, req); !stopped(err) {
		t.Fatal(err)
	}
	_, err := d.CreateDevice(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindConflict, "request_in_flight")
	d.expire(t)
	created, err := d.CreateDevice(t.Context(), d.scope, req)
	if err != nil || created.Replayed {
		t.Errorf("after the deadline: %+v, %v, want a new device", created, err)
	}
	d.expectState(t, state{
		Devices: []string{"tv pending rev 1"},
		Claims:  []string{"device-code code of tv"},
		Events:  []string{"tv 1 device.created by principal [client_id label status]"},
	})
	d.checkInvariants(t, true)
}

func TestCreateDevice_ThatWasRemoved_IsGone(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	req := CreateDevice{IdempotencyKey: "k"}
	first, err := d.CreateDevice(t.Context(), d.scope, req)
	if err != nil {
		t.Fatal(err)
	}
	d.everywhere(t, `DELETE FROM devices`)
	_, err = d.CreateDevice(t.Context(), d.scope, req)
	expectCode(t, err, domain.KindGone, "device_removed")
	if left := d.operationRows(t); len(left) > 0 {
		t.Errorf("%d operations are left", len(left))
	}
	d.everywhere(t, `DELETE FROM events`) // past their retention
	second, err := d.CreateDevice(t.Context(), d.scope, req)
	if err != nil || second.Replayed || second.ID != first.ID {
		t.Errorf("with nothing left of it: %+v, %v, want a new device", second, err)
	}
}

// A code that is another's, or may be soon, is passed over for the next. Its
// caller never hears of it.
func TestCreateDevice_TakenCodes_ArePassedOver(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	req := CreateDevice{IdempotencyKey: "k"}
	id := domain.DeriveID[domain.DeviceKind](d.scope.Settings.IDKey, "device", d.scope.Principal.String(), "k")
	d.holdCode(t, "first", d.deriveUserCode(d.scope.Tenant, id, 0))
	dying := d.with(Options{Faults: &crashAt{point: "device claimed", nth: 1}})
	if _, err := dying.makeDevice(t.Context(), d.scope.Tenant, withCode("second", d.deriveUserCode(d.scope.Tenant, id, 1))); !stopped(err) {
		t.Fatal(err)
	}
	got, err := d.CreateDevice(t.Context(), d.scope, req)
	if err != nil || got.ID != id || got.UserCode != d.deriveUserCode(d.scope.Tenant, id, 2) {
		t.Fatalf("got %+v, %v, want the third of its codes", got, err)
	}
	again, err := d.CreateDevice(t.Context(), d.scope, req)
	if err != nil || !again.Replayed || again.UserCode != got.UserCode {
		t.Errorf("the retry got %+v, %v", again, err)
	}
	d.expire(t)
	d.sweepAll(t)
	d.checkInvariants(t, true)
}

func TestCreateDevice_AllCodesTaken_IsUnavailableAndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	id := domain.DeriveID[domain.DeviceKind](d.scope.Settings.IDKey, "device", d.scope.Principal.String(), "k")
	for attempt := range maxCodeAttempts {
		d.holdCode(t, numbered("tv-%d", attempt), d.deriveUserCode(d.scope.Tenant, id, attempt))
	}
	before := d.state(t)
	_, err := d.CreateDevice(t.Context(), d.scope, CreateDevice{IdempotencyKey: "k"})
	expectCode(t, err, domain.KindUnavailable, "user_code_unavailable")
	d.expectState(t, before)
}

// withCode is a device that waits under a given code, as an import makes one.
func withCode(label string, code UserCode) *newDevice {
	return &newDevice{device: &deviceRow{Device: Device{
		ID: domain.NewID[domain.DeviceKind](time.Now()), Status: DevicePending, Label: &label, UserCode: code}}}
}

func (d *directory) holdCode(t testing.TB, label string, code UserCode) *deviceRow {
	t.Helper()
	n := withCode(label, code)
	n.actor = principalActor(d.scope)
	if found, err := d.makeDevice(t.Context(), d.scope.Tenant, n); err != nil || found != nil {
		t.Fatalf("make %s: %v, %v", label, found, err)
	}
	return n.device
}

func TestDeviceWithATakenCode_IsRefused(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	held := d.holdCode(t, "first", RestoreUserCode("WDJBMJHT"))
	n := withCode("second", held.UserCode)
	_, err := d.makeDevice(t.Context(), d.scope.Tenant, n)
	expectCode(t, err, domain.KindConflict, "user_code_taken")
	var e *domain.Error
	if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Pointer != "/user_code" {
		t.Errorf("the conflict %v does not name the code", err)
	}
	d.expectState(t, state{
		Devices: []string{"first pending rev 1"},
		Claims:  []string{"device-code code of first"},
		Events:  []string{"first 1 device.created by principal [label status]"},
	})
}

// An expired code may be claimed by another device, whoever held it; from then on
// it leads there, and never to the first again.
func TestExpiredCode_GoesToTheNextDevice(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	ada := d.create(t, "ada", "")
	code := RestoreUserCode("WDJBMJHT")
	first := d.holdCode(t, "first", code)
	d.expireCodes(t)
	guess := CodeGuess{UserCode: code.String(), Account: ada.ID}
	_, err := d.LookupCode(t.Context(), d.scope, guess)
	expectCode(t, err, domain.KindNotFound, "user_code_not_found")

	second := d.holdCode(t, "second", code)
	found, err := d.LookupCode(t.Context(), d.scope, guess)
	if err != nil || found.ID != second.ID {
		t.Errorf("the code leads to %v, %v, want the second device", found.ID, err)
	}
	// Nor does the first device's release, however late, take the code away.
	if err := d.release(t.Context(), d.scope.Tenant, deviceRef(first.ID), first.links()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ApproveDevice(t.Context(), d.scope, guess); err != nil {
		t.Error(err)
	}
	d.checkInvariants(t, true)
}

func TestCreateDevice_RefusesWhatNoDeviceMayHave(t *testing.T) {
	t.Parallel()
	d := newDirectory(t, Options{})
	long, damaged := strings.Repeat("é", 201), "a\xff"
	client := d.client("play", "watch")
	many := make([]string, 65)
	for i := range many {
		many[i] = numbered("s%d", i)
	}
	tests := []struct {
		name  string
		req   CreateDevice
		code  string
		grant string
	}{
		{"a long label", CreateDevice{Label: &long}, "label_too_long", tenancy.GrantInvalidRequest},
		{"a damaged label", CreateDevice{Label: &damaged}, "label_invalid", tenancy.GrantInvalidRequest},
		{"a scope with a space", CreateDevice{Client: client, Scopes: []string{"play watch"}}, "scope_invalid", tenancy.GrantInvalidScope},
		{"a scope with a quote", CreateDevice{Scopes: []string{`a"`}}, "scope_invalid", tenancy.GrantInvalidScope},
		{"an empty scope", CreateDevice{Scopes: []string{""}}, "scope_invalid", tenancy.GrantInvalidScope},
		{"too many scopes", CreateDevice{Scopes: many}, "scopes_too_many", ""},
		{"too long scopes", CreateDevice{Scopes: []string{strings.Repeat("a", 2001)}}, "scopes_too_many", ""},
		{"a scope that the client hasn't", CreateDevice{Client: client, Scopes: []string{"watch", "pay"}}, "scope_not_allowed", tenancy.GrantInvalidScope},
	}
	for _, test := range tests {
		_, err := d.CreateDevice(t.Context(), d.scope, test.req)
		if domain.KindOf(err) != domain.KindInvalid || domain.CodeOf(err) != test.code {
			t.Errorf("%s: %v, want %s", test.name, err, test.code)
		}
		if test.grant == "" {
			continue
		}
		_, err = d.AuthorizeDevice(t.Context(), client, AuthorizeDevice{Label: test.req.Label, Scopes: test.req.Scopes})
		if grantCode(err) != test.grant {
			t.Errorf("%s, in a flow: %v, want %s", test.name, err, test.grant)
		}
	}
	fits := strings.Repeat("é", 200)
	if _, err := d.CreateDevice(t.Context(), d.scope, CreateDevice{Label: &fits, Scopes: many[:64]}); err != nil {
		t.Errorf("a label of 200 characters and 64 scopes: %v", err)
	}
}
