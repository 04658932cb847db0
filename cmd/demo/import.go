package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/clients/go"
)

const (
	importedAccounts = 300 // each with an email
	importedDevices  = 50
)

// importADirectory brings another directory's accounts and devices into a tenant
// that serves nobody until they have been verified.
func importADirectory(ctx context.Context, s *stack, n *narrator) error {
	n.chapter("An import")
	in := importing{stack: s}
	if err := n.steps([]step{
		{"an operator makes initech, which takes only imports until it is opened", func() (err error) {
			in.into, err = s.newTenant(ctx, "initech", holdfast.IdentityStateImporting)
			return err
		}},
		{"its application is served nothing yet", func() error {
			_, err := in.into.client.ListAccountsWithResponse(ctx, nil)
			return expectCode(err, http.StatusForbidden, "namespace_importing")
		}},
		{"300 accounts and their 50 devices are imported; one whose handle is taken is not", func() error {
			return in.send(ctx, map[string]int{"created": importedAccounts + importedDevices, "failed": 1})
		}},
	}); err != nil {
		return err
	}
	n.note("line %d, %s: %s at %s", in.failed.Line, *in.failed.Key, in.failed.Error.Code, (*in.failed.Error.Errors)[0].Pointer)
	if err := n.steps([]step{
		{"the same lines again make nothing: what is there exists", func() error {
			return in.send(ctx, map[string]int{"exists": importedAccounts + importedDevices, "failed": 1})
		}},
		{"the report counts them and their keys, and finds nothing wrong", func() error { return in.verify(ctx) }},
	}); err != nil {
		return err
	}
	n.note("its hash: %s", in.report.ReportHash)
	return n.steps([]step{
		{"an account is imported late: the hash of that report opens nothing any more", func() error { return in.openTooLate(ctx) }},
		{"the hash of a new report opens initech, and it is served", func() error { return in.open(ctx) }},
	})
}

// importing is an import on its way.
type importing struct {
	*stack
	into   *tenant
	failed holdfast.ImportResult // the last one that did
	report holdfast.IdentityReport
}

// lines are another directory's: accounts, their devices, and an account whose
// handle is another's by now.
func lines() iter.Seq[holdfast.ImportLine] {
	return func(yield func(holdfast.ImportLine) bool) {
		for i := range importedAccounts {
			if !yield(accountLine(i, fmt.Sprintf("user-%d", i))) {
				return
			}
		}
		for i := range importedDevices {
			owner, label := fmt.Sprintf("row-%d", i), "Kitchen"
			device := holdfast.ImportDevice{AccountKey: &owner, Label: &label, Status: holdfast.ImportDeviceStatusApproved}
			if !yield(holdfast.ImportLine{Key: fmt.Sprintf("device-%d", i), Device: &device}) {
				return
			}
		}
		yield(accountLine(importedAccounts, "USER-0"))
	}
}

func accountLine(i int, handle string) holdfast.ImportLine {
	since, email := time.Date(2019, 3, 1, 0, 0, i, 0, time.UTC), fmt.Sprintf("user-%d@initech.example", i)
	return holdfast.ImportLine{Key: fmt.Sprintf("row-%d", i), Account: &holdfast.ImportAccount{Handle: handle, Email: &email, EmailVerifiedAt: &since, CreatedAt: &since}}
}

// send imports all lines, and expects so many of each result.
func (in *importing) send(ctx context.Context, want map[string]int) error {
	got := map[string]int{}
	for result, err := range holdfast.Import(ctx, in.into.client, lines()) {
		if err != nil {
			return err
		}
		if got[result.Result]++; result.Error != nil {
			in.failed = result
		}
	}
	right := in.failed.Error != nil && in.failed.Error.Code == "handle_taken" && fmt.Sprint(got) == fmt.Sprint(want)
	return expect(right, "the results are %v, want %v; the last that failed is %+v", got, want, in.failed.Error)
}

func (in *importing) verify(ctx context.Context) (err error) {
	if in.report, err = in.newReport(ctx); err != nil {
		return err
	}
	counts := map[string]int64{}
	for _, c := range in.report.Records {
		counts[c.Family+"s "+c.Status] += c.Count
	}
	for _, c := range in.report.Keys {
		counts[c.Family+" keys"] += c.Count
	}
	for what, want := range map[string]int64{
		"accounts active": importedAccounts, "devices approved": importedDevices,
		"handle keys": importedAccounts, "email keys": importedAccounts,
	} {
		if counts[what] != want {
			return fmt.Errorf("%d %s, want %d", counts[what], what, want)
		}
	}
	return expect(in.report.Openable, "it isn't openable: %s", strings.Join(in.report.Obstacles, ", "))
}

func (in *importing) openTooLate(ctx context.Context) error {
	late := func(yield func(holdfast.ImportLine) bool) { yield(accountLine(importedAccounts+1, "late")) }
	for result, err := range holdfast.Import(ctx, in.into.client, late) {
		if err != nil || result.Result != "created" {
			return errors.Join(err, fmt.Errorf("the late one is %s", result.Result))
		}
	}
	_, err := in.operator.OpenIdentityWithResponse(ctx, in.into.id, holdfast.OpenIdentity{ReportHash: in.report.ReportHash})
	return expectCode(err, http.StatusConflict, "report_changed")
}

func (in *importing) open(ctx context.Context) error {
	report, err := in.newReport(ctx)
	if err != nil {
		return err
	}
	opened, err := in.operator.OpenIdentityWithResponse(ctx, in.into.id, holdfast.OpenIdentity{ReportHash: report.ReportHash})
	if err != nil {
		return err
	}
	if err := expect(opened.JSON200.IdentityState == "open", "its namespace is %s", opened.JSON200.IdentityState); err != nil {
		return err
	}
	return expectAccounts(ctx, in.into, importedAccounts+1)
}

func (in *importing) newReport(ctx context.Context) (holdfast.IdentityReport, error) {
	report, err := in.operator.GetIdentityReportWithResponse(ctx, in.into.id)
	if err != nil {
		return holdfast.IdentityReport{}, err
	}
	return *report.JSON200, nil
}
