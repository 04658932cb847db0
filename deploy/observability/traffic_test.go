package main

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A canary is a value that a person, or a tenant, would not want to meet in a log:
// each part of a flow has one of its own, so that what is found tells where it leaked.
type canaries map[string]string

// new makes one and keeps it under a name.
func (c canaries) new(name string) string {
	value := "canary" + strings.ReplaceAll(name, " ", "") + "q7x"
	c[name] = value
	return value
}

// keep takes in what Holdfast made: a key, a token, a code.
func (c canaries) keep(name, secret string) string {
	c[name] = secret
	return secret
}

// traffic is what was driven through an installation.
type traffic struct {
	tenant   string
	canaries canaries
}

// drive has one tenant do a little of all there is: accounts with a conflict, a
// device, an email change, a world with a lease that is taken, fenced and handed
// back, records with bodies in the object store, a snapshot, and a sweep.
func drive(t *testing.T, in *installation) *traffic {
	t.Helper()
	tr := &traffic{canaries: canaries{}}
	c := tr.canaries
	c.keep("operator's key", in.operatorKey)
	operator := in.as(t, in.operatorKey)
	c.keep("operator's token", operator.token)

	tr.tenant = operator.call(t, "POST", "/v1/tenants", fmt.Sprintf(`{"name":%q}`, c.new("tenant name"))).is(http.StatusCreated).text("id")
	of := "/v1/tenants/" + tr.tenant
	operator.call(t, "PUT", of+"/storage", `{"record_format":2}`).is(http.StatusOK)
	principal := operator.call(t, "POST", of+"/principals", fmt.Sprintf(`{"name":%q,"scopes":[
		"identity:read","identity:write","lease:read","lease:append","lease:hold","lease:admin","record:read","record:write"]}`,
		c.new("principal name"))).is(http.StatusCreated).text("id")
	key := operator.call(t, "POST", of+"/principals/"+principal+"/api-keys", `{}`).is(http.StatusCreated).text("api_key")
	c.keep("tenant's key", key)
	app := in.as(t, key)
	c.keep("tenant's token", app.token)

	tr.people(t, app)
	tr.worlds(t, app)
	tr.records(t, app)
	operator.call(t, "POST", "/v1/sweeps/identity/run", "").is(http.StatusAccepted)
	// What is refused is told too, by its code.
	app.call(t, "GET", "/v1/tenants", "").is(http.StatusForbidden)
	app.call(t, "GET", "/v1/nowhere/"+c.new("path")+"?q="+c.new("query"), "").is(http.StatusNotFound)
	(&caller{url: in.url, token: c.new("wrong token")}).call(t, "GET", "/v1/accounts", "").is(http.StatusUnauthorized)
	return tr
}

func (tr *traffic) people(t *testing.T, app *caller) {
	t.Helper()
	c := tr.canaries
	handle, email := c.new("handle"), c.new("email")+"@example.com"
	account := app.call(t, "POST", "/v1/accounts", fmt.Sprintf(`{"handle":%q,"email":%q,"email_verified":true,"display_name":%q,"attributes":{"note":%q}}`,
		handle, email, c.new("display name"), c.new("attribute"))).is(http.StatusCreated).text("id")
	app.call(t, "POST", "/v1/accounts", fmt.Sprintf(`{"handle":%q}`, handle)).is(http.StatusConflict)
	app.call(t, "POST", "/v1/accounts", fmt.Sprintf(`{"handle":%q,"email":"not an %s"}`, c.new("other handle"), c.new("wrong email"))).is(http.StatusUnprocessableEntity)
	app.call(t, "POST", "/v1/accounts/lookup", fmt.Sprintf(`{"email":%q}`, email)).is(http.StatusOK)
	app.call(t, "GET", "/v1/accounts/"+c.new("account id"), "").is(http.StatusNotFound)

	change := app.call(t, "POST", "/v1/accounts/"+account+"/email-changes", fmt.Sprintf(`{"email":"%s@example.com"}`, c.new("next email"))).is(http.StatusCreated)
	code := c.keep("email's code", change.text("code"))
	app.call(t, "POST", "/v1/accounts/"+account+"/email-changes/"+change.text("id")+"/confirm", fmt.Sprintf(`{"code":%q}`, code)).is(http.StatusOK)

	device := app.call(t, "POST", "/v1/devices", fmt.Sprintf(`{"label":%q}`, c.new("device label"))).is(http.StatusCreated)
	userCode := c.keep("user code", device.text("user_code"))
	app.call(t, "POST", "/v1/device-codes/lookup", fmt.Sprintf(`{"user_code":%q,"account_id":%q}`, userCode, account)).is(http.StatusOK)
}

func (tr *traffic) worlds(t *testing.T, app *caller) {
	t.Helper()
	c := tr.canaries
	world := c.new("world")
	app.call(t, "POST", "/v1/worlds", fmt.Sprintf(`{"world_id":%q}`, world)).is(http.StatusCreated)
	at := "/v1/worlds/" + world
	app.call(t, "POST", at+"/journal", fmt.Sprintf(`{"entries":[{"entry_id":%q,"json":%q}]}`, c.new("entry id"), c.new("payload"))).is(http.StatusCreated)
	lease := app.call(t, "POST", at+"/lease/acquire", fmt.Sprintf(`{"request_id":%q}`, c.new("lease request"))).is(http.StatusOK)
	c.keep("lease's secret", lease.text("secret"))
	app.call(t, "POST", at+"/journal", `{"entries":[{"json":1}]}`).is(http.StatusConflict) // fenced: it names no lease
	app.call(t, "POST", at+"/lease/revoke", fmt.Sprintf(`{"epoch":%d,"renewed_position":%d,"reason":%q}`,
		lease.number("epoch"), lease.number("handoff_position"), c.new("reason"))).is(http.StatusOK)
	// One whose time is over before anybody asks: the worker ends it.
	app.call(t, "POST", at+"/lease/acquire", fmt.Sprintf(`{"request_id":%q,"term_seconds":5}`, c.new("second lease request"))).is(http.StatusOK)
}

func (tr *traffic) records(t *testing.T, app *caller) {
	t.Helper()
	c := tr.canaries
	collection := "/v1/collections/" + c.new("collection")
	app.call(t, "PUT", collection, `{}`).is(http.StatusCreated)
	at := collection + "/records/" + c.new("record key")
	body := base64.StdEncoding.EncodeToString([]byte(c.new("body")))
	c.keep("encoded body", strings.TrimRight(body, "="))
	app.call(t, "PUT", at, fmt.Sprintf(`{"operation_id":%q,"sections":{"items":{"body":%q}}}`, c.new("operation id"), body), "If-None-Match: *").is(http.StatusOK)
	app.call(t, "GET", at+"?include=bodies", "").is(http.StatusOK)
	app.call(t, "GET", at+"/sections/items/body", "").is(http.StatusOK)
	app.call(t, "POST", collection+"/snapshots", "").is(http.StatusAccepted)
}
