package httpapi

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/domain/identity"
	"github.com/holdfast-dev/holdfast/internal/tenancy"
)

var devicePath = "/v1/devices/" + knownDevice.String()

const deviceText = `"account_id":"01930000-0000-0000-0000-000000000001","approved_at":"2026-11-30T12:00:00Z",` +
	`"client_id":"hfc_ab000000000000000000000000000003","created_at":"2026-11-30T12:00:00Z","expires_at":"2026-11-30T12:15:00Z",` +
	`"id":"01940000-0000-0000-0000-000000000004","label":"Living room","redeemed_at":null,"revision":3,"scopes":["play"],` +
	`"status":"approved","updated_at":"2026-11-30T12:00:00Z","user_code":"WDJB-MJHT"`

func TestDevice_IsEncodedWholeWithNullsAndUTC(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	w := a.do(t, request{method: "GET", target: devicePath})
	if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != "{"+deviceText+"}" || w.Header().Get("ETag") != `"3"` {
		t.Errorf("%d %v %s\nwant {%s}", w.Code, w.Header(), got, deviceText)
	}
	if a.directory.got != knownDevice {
		t.Errorf("asked for %v", a.directory.got)
	}
}

func TestCreateDevice_HasADeviceCodeWithAClientOnly(t *testing.T) {
	t.Parallel()
	label := "Living room"
	for body, c := range map[string]struct {
		want identity.CreateDevice
		code string
	}{
		`{}`:             {identity.CreateDevice{}, ""},
		`{"label":null}`: {identity.CreateDevice{}, ""},
		`{"label":"Living room","client_id":"hfc_ab000000000000000000000000000003","scopes":["play"]}`: {
			identity.CreateDevice{Label: &label, Client: theClient(), Scopes: []string{"play"}}, "device-code"},
	} {
		for key, again := range map[string]string{"k-1": "", "replayed": "true"} {
			a := newTestAPI(t, testOptions{})
			w := a.do(t, request{method: "POST", target: "/v1/devices", body: body, headers: []string{"Idempotency-Key: " + key}})
			var got CreatedDevice
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusCreated {
				t.Fatalf("%s: %d %s", body, w.Code, w.Body)
			}
			if orZero(got.DeviceCode) != c.code || got.Status != "pending" || got.AccountID != nil || orZero(got.UserCode) != "WDJB-MJHT" {
				t.Errorf("%s: %s", body, w.Body)
			}
			if h := w.Header(); h.Get("ETag") != `"1"` || h.Get("Idempotent-Replayed") != again || h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: headers are %v", body, h)
			}
			c.want.IdempotencyKey = key
			if diff := cmp.Diff(any(c.want), a.directory.got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", body, diff)
			}
		}
	}
}

func TestCreateDevice_ForAnotherTenantsClientAsForNobodys(t *testing.T) {
	t.Parallel()
	known := tenancy.ClientIDText(knownClient)
	for name, q := range map[string]request{
		"another tenant's":     {body: `{"client_id":"` + known + `"}`, token: "other"},
		"nobody's":             {body: `{"client_id":"hfc_00000000000000000000000000000001"}`},
		"what isn't one":       {body: `{"client_id":"hfc_"}`},
		"one that is none yet": {body: `{"client_id":"hfc_abzz0000000000000000000000000003"}`},
	} {
		a := newTestAPI(t, testOptions{})
		q.method, q.target = "POST", "/v1/devices"
		p := problemIn(t, a.do(t, q))
		if p.Status != http.StatusUnprocessableEntity || p.Code != "client_unknown" || fieldsIn(p)[0].Pointer != "/client_id" || a.directory.got != nil {
			t.Errorf("%s: %d %s %v", name, p.Status, p.Code, p.Errors)
		}
	}
}

func TestPatchDevice_TellsAbsentFromNullFromValue(t *testing.T) {
	t.Parallel()
	var none *string
	label := "Kitchen"
	given := &label
	for body, want := range map[string]identity.DevicePatch{
		`{}`:                  {},
		`{"label":null}`:      {Label: &none},
		`{"label":"Kitchen"}`: {Label: &given},
	} {
		for _, media := range []string{mediaJSON, mediaMergePatch} {
			a := newTestAPI(t, testOptions{})
			w := a.do(t, request{method: "PATCH", target: devicePath, body: body, headers: []string{`If-Match: "41"`, "Content-Type: " + media}})
			if w.Code != http.StatusOK || w.Header().Get("ETag") != `"3"` {
				t.Fatalf("%s as %s: %d %s", body, media, w.Code, w.Body)
			}
			if diff := cmp.Diff(any(patchedDevice{knownDevice, 41, want}), a.directory.got); diff != "" {
				t.Errorf("%s as %s (-want +got):\n%s", body, media, diff)
			}
		}
	}
}

func TestRevokeDevice_NamesTheRevision(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	if w := a.do(t, request{method: "DELETE", target: devicePath, headers: []string{`If-Match: "3"`}}); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if diff := cmp.Diff(any(patchedDevice{ID: knownDevice, Revision: 3}), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestListAccountDevices_GoesOnForTheSameAccountAndStatusOnly(t *testing.T) {
	t.Parallel()
	a := newTestAPI(t, testOptions{})
	a.directory.devices = identity.DevicePage{Devices: []identity.Device{theDevice()}, Next: &knownDevice}
	var page DevicePage
	path := accountPath + "/devices"
	if err := json.Unmarshal(a.do(t, request{method: "GET", target: path + "?status=approved&limit=1"}).Body.Bytes(), &page); err != nil || page.NextCursor == nil || len(page.Devices) != 1 {
		t.Fatalf("%v %+v", err, page)
	}
	next := "cursor=" + url.QueryEscape(*page.NextCursor)
	a.do(t, request{method: "GET", target: path + "?status=approved&" + next})
	approved := identity.DeviceApproved
	if diff := cmp.Diff(any(listedDevices{knownAccount, &approved, knownDevice, 50}), a.directory.got); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for name, target := range map[string]string{
		"without the status":  path + "?" + next,
		"with another status": path + "?status=revoked&" + next,
		"of another account":  strings.Replace(path, "01930000", "01930001", 1) + "?status=approved&" + next,
	} {
		if p := problemIn(t, a.do(t, request{method: "GET", target: target})); p.Code != "cursor_invalid" {
			t.Errorf("%s: %d %s", name, p.Status, p.Code)
		}
	}
}

func TestDeviceCodes_AreGuessedInTheNameOfAnAccount(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"lookup", "approve", "deny"} {
		a := newTestAPI(t, testOptions{})
		w := a.do(t, request{method: "POST", target: "/v1/device-codes/" + what, body: `{"user_code":" wdjb mjht","account_id":"` + knownAccount.String() + `"}`})
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != "{"+deviceText+"}" || w.Header().Get("ETag") != `"3"` {
			t.Errorf("%s: %d %s", what, w.Code, got)
		}
		want := guessed{what, identity.CodeGuess{UserCode: " wdjb mjht", Account: knownAccount}}
		if diff := cmp.Diff(any(want), a.directory.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}
