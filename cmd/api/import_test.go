package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// importingCustomer is a tenant whose namespace is not open yet, and a principal
// of it.
func (s *stack) importingCustomer(t testing.TB, r *running, name string) customer {
	t.Helper()
	operator := s.operator(t, r)
	made, err := operator.CreateTenantWithResponse(t.Context(), nil, holdfast.NewTenant{Name: name, IdentityState: ptr(holdfast.IdentityStateImporting)})
	if err != nil {
		t.Fatal(err)
	}
	return s.customerOf(t, r, made.JSON201.ID, "identity:read", "identity:write")
}

// importAll imports lines and gives the results in short: "created", or a
// failure's code and pointer.
func importAll(t *testing.T, client *holdfast.ClientWithResponses, lines ...holdfast.ImportLine) (results []string) {
	t.Helper()
	for r, err := range holdfast.Import(t.Context(), client, slices.Values(lines)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case r.Error == nil:
			results = append(results, r.Result)
		default:
			results = append(results, r.Error.Code+" "+(*r.Error.Errors)[0].Pointer)
		}
	}
	return results
}

func accountLine(key, handle, email string) holdfast.ImportLine {
	return holdfast.ImportLine{Key: key, Account: &holdfast.ImportAccount{Handle: handle, Email: &email}}
}

// I4 and I25: a tenant's directory is imported, verified, and opened by the hash
// of the report that was looked at.
func TestImport_ANamespaceIsFilledVerifiedAndOpened(t *testing.T) {
	t.Parallel()
	s := newStack(t, 3)
	r := s.serve(t)
	c := s.importingCustomer(t, r, "acme")
	app, operator := connect(t, r, c.key), s.operator(t, r)

	lines := []holdfast.ImportLine{
		accountLine("1", "Ada", "ada@example.com"),
		accountLine("2", "bob", "ADA@example.com"),
		{Key: "1", Device: &holdfast.ImportDevice{Status: "approved", AccountKey: ptr("1"), Label: ptr("TV")}},
	}
	want := []string{"created", "email_taken /account/email", "created"}
	if diff := cmp.Diff(want, importAll(t, app, lines...)); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	report := s.report(t, r, c)
	if counts := countsIn(report); counts != "account active 1, device approved 1, email 1, handle 1" || !report.Openable || report.Violations != 0 {
		t.Errorf("report is %s: %+v", counts, report)
	}
	want[0], want[2] = "exists", "exists"
	if diff := cmp.Diff(want, importAll(t, app, lines...)); diff != "" {
		t.Errorf("sent again (-want +got):\n%s", diff)
	}
	if again := s.report(t, r, c); again.ReportHash != report.ReportHash {
		t.Error("what was sent again has changed the report")
	}

	importAll(t, app, accountLine("3", "cy", "cy@example.com"))
	if _, err := operator.OpenIdentityWithResponse(t.Context(), c.id, holdfast.OpenIdentity{ReportHash: report.ReportHash}); !holdfast.IsCode(err, "report_changed") {
		t.Errorf("opened on an old report: %v", err)
	}
	if _, err := app.ListAccountsWithResponse(t.Context(), nil); !holdfast.IsCode(err, "namespace_importing") {
		t.Errorf("an importing namespace serves: %v", err)
	}
	for range 2 { // harmless to repeat, whatever the hash
		opened, err := operator.OpenIdentityWithResponse(t.Context(), c.id, holdfast.OpenIdentity{ReportHash: s.report(t, r, c).ReportHash})
		if err != nil || opened.JSON200.IdentityState != "open" {
			t.Fatalf("%v %s", err, opened.Body)
		}
	}
	found, err := app.LookupAccountWithResponse(t.Context(), holdfast.LookupKey{Email: ptr("Ada@Example.com")})
	if err != nil {
		t.Fatal(err)
	}
	devices, err := app.ListAccountDevicesWithResponse(t.Context(), found.JSON200.ID, nil)
	if err != nil || len(devices.JSON200.Devices) != 1 || *devices.JSON200.Devices[0].Label != "TV" {
		t.Errorf("devices are %s, %v", devices.Body, err)
	}
	if diff := cmp.Diff([]string{"created"}, importAll(t, app, accountLine("4", "dee", "dee@example.com"))); diff != "" {
		t.Errorf("an open namespace (-want +got):\n%s", diff)
	}
}

func (s *stack) report(t testing.TB, r *running, c customer) holdfast.IdentityReport {
	t.Helper()
	report, err := s.operator(t, r).GetIdentityReportWithResponse(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	return *report.JSON200
}

// countsIn are the counts of a report that aren't zero.
func countsIn(report holdfast.IdentityReport) string {
	var counts []string
	for _, c := range report.Records {
		if c.Count > 0 {
			counts = append(counts, fmt.Sprint(c.Family, " ", c.Status, " ", c.Count))
		}
	}
	for _, c := range report.Keys {
		if c.Count > 0 {
			counts = append(counts, fmt.Sprint(c.Family, " ", c.Count))
		}
	}
	slices.Sort(counts)
	return strings.Join(counts, ", ")
}

// I25: whatever a tenant's principal may ask of an importing namespace is
// refused with the reason, but for imports.
func TestImporting_EveryOperationOnTheDirectoryIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	c := s.importingCustomer(t, s.api, "importing")
	token := s.buyToken(t, c.key)
	for _, op := range loadSpec(t).operations {
		if !takesTenant(op) || op.operation.OperationID == "importAccounts" {
			continue
		}
		x := s.valid(t, op)
		x.header.Set("Authorization", "Bearer "+token)
		if op.operation.OperationID == "createDevice" {
			x.body = []byte(`{}`) // the client is another tenant's
		}
		s.send(t, x)
		if x.status != http.StatusForbidden || !strings.Contains(string(x.answer), "namespace_importing") {
			t.Errorf("%v: %d %s", op, x.status, x.answer)
		}
	}
	made, err := s.operator(t, s.api).CreateClientWithResponse(t.Context(), c.id, nil, holdfast.NewPublicClient{Name: "tv", VerificationURI: "https://example.com"})
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.PostForm(s.api.url+"/v1/oauth/device_authorization", url.Values{"client_id": {made.JSON201.ID}})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var refused holdfast.OAuthError
	if err := json.NewDecoder(response.Body).Decode(&refused); err != nil || response.StatusCode != http.StatusForbidden || refused.Error != "namespace_importing" {
		t.Errorf("a device of it: %d %s %v", response.StatusCode, refused.Error, err)
	}
}

// takesTenant tells an operation that a tenant's principal may call.
func takesTenant(op described) bool {
	security := *op.operation.Security
	return len(security) > 0 && strings.HasPrefix(security[0]["oauth"][0], "identity:")
}
