package main

import (
	"fmt"
	"net/url"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

// validOnTenants makes valid requests of the tenants' lifecycle, of tenants of their
// own. It tells whether the operation is one of these.
func (s *subject) validOnTenants(t testing.TB, x *exchange, n int64, json func(string)) bool {
	t.Helper()
	switch x.op.operation.OperationID {
	case "patchTenant":
		x.path["tenant_id"] = s.ending(t, n)
		x.header.Set("If-Match", s.tenantETag(t, x.path["tenant_id"]))
		json(`{"name":"renamed-$n"}`)
	case "deleteTenant":
		x.path["tenant_id"] = s.ending(t, n)
		x.header.Set("If-Match", s.tenantETag(t, x.path["tenant_id"]))
	case "getTenantDeletion", "cancelTenantDeletion":
		x.path["tenant_id"] = s.ending(t, n)
		s.askDeletion(t, x.path["tenant_id"])
	case "approveTenantDeletion":
		x.path["tenant_id"] = s.ending(t, n)
		s.askDeletion(t, x.path["tenant_id"])
		x.header.Set("If-Match", s.tenantETag(t, x.path["tenant_id"]))
	case "setLegalHold":
		x.path["tenant_id"] = s.ending(t, n)
		json(`{"reason":"lawsuit $n"}`)
	case "exportTenant":
	case "getExportedBody":
		x.query = "collection=" + s.collection + "&key=" + url.QueryEscape(s.key) + "&section=items&digest=" + s.digestOf(t)
	case "liftLegalHold":
		x.path["tenant_id"] = s.ending(t, n)
	default:
		return false
	}
	return true
}

// ending is a tenant that nothing else needs.
func (s *subject) ending(t testing.TB, n int64) string {
	t.Helper()
	return s.tenant(t, s.api, fmt.Sprint("ending-", n)).id
}

func (s *subject) tenantETag(t testing.TB, tenant string) string {
	t.Helper()
	shown, err := s.operator(t, s.api).GetTenantWithResponse(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return shown.HTTPResponse.Header.Get("ETag")
}

// askDeletion asks for a tenant's deletion as the second operator.
func (s *subject) askDeletion(t testing.TB, tenant string) {
	t.Helper()
	etag, asker := s.tenantETag(t, tenant), connect(t, s.api, s.secondKey)
	if _, err := asker.DeleteTenantWithResponse(t.Context(), tenant, &holdfast.DeleteTenantParams{IfMatch: &etag}); err != nil {
		t.Fatal(err)
	}
}

// deletionAsked names what is approved.
func (s *subject) deletionAsked(t testing.TB, tenant string) *holdfast.ApproveTenantDeletionParams {
	t.Helper()
	etag := s.tenantETag(t, tenant)
	return &holdfast.ApproveTenantDeletionParams{IfMatch: &etag}
}

// anotherOperator is the key of an operator that is made.
func (s *stack) anotherOperator(t testing.TB, r *running, name string, scopes ...string) (key string) {
	t.Helper()
	operator := s.operator(t, r)
	made, err := operator.CreateOperatorWithResponse(t.Context(), nil, holdfast.NewPrincipal{Name: name, Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	issued, err := operator.CreateOperatorAPIKeyWithResponse(t.Context(), made.JSON201.ID, nil, holdfast.NewAPIKey{})
	if err != nil {
		t.Fatal(err)
	}
	return issued.JSON201.APIKey
}

// digestOf is that of the record's body in the section items.
func (s *subject) digestOf(t testing.TB) string {
	t.Helper()
	shown, err := connect(t, s.api, s.owner.key).GetRecordWithResponse(t.Context(), s.collection, s.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return *shown.JSON200.Sections["items"].Digest
}
