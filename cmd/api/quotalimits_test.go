package main

import (
	"net/http"
	"testing"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
	"github.com/holdfast-dev/holdfast/internal/testkit"
)

// expectQuota demands that the answer names the quota that is full, and what it is.
func expectQuota(t *testing.T, quota string, limit int64, r reply) {
	t.Helper()
	r.expectProblem(t, http.StatusForbidden, "quota_exceeded")
	var told struct {
		Quota string
		Limit int64
	}
	r.into(t, &told)
	if told.Quota != quota || told.Limit != limit {
		t.Errorf("told is %+v, want %s and %d", told, quota, limit)
	}
	if r.header.Get("Retry-After") != "" {
		t.Errorf("%s: time makes no room, and Retry-After says %s", quota, r.header.Get("Retry-After"))
	}
}

// expectAgain demands that a request succeeds, and the same one again, which is
// answered from what the first has made.
func expectAgain(t *testing.T, what string, send func() reply) {
	t.Helper()
	if first := send(); first.status >= http.StatusBadRequest {
		t.Fatalf("%s: %d %s", what, first.status, first.body)
	}
	if again := send(); again.status >= http.StatusBadRequest || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s, again: %d %s", what, again.status, again.body)
	}
}

func TestQuotas_AreToldByName_AndARetryOfWhatFittedIsAnswered(t *testing.T) {
	t.Parallel()
	s := newStack(t, 1)
	r := s.serve(t, testkit.BodiesEnviron(testkit.BodyStore(t))...)
	one, bytes := int64(1), int64(5)
	l := s.newLimited(t, r, "acme", holdfast.SetLimits{Accounts: &one, Devices: &one, Worlds: &one, BodyBytes: &bytes})

	expectAgain(t, "an account", func() reply {
		return l.send(t, "POST", "/v1/accounts", `{"handle":"ada"}`, "Idempotency-Key: a")
	})
	expectQuota(t, "accounts", 1, l.send(t, "POST", "/v1/accounts", `{"handle":"bob"}`, "Idempotency-Key: b"))
	expectAgain(t, "a device", func() reply {
		return l.send(t, "POST", "/v1/devices", `{"label":"TV"}`, "Idempotency-Key: a")
	})
	expectQuota(t, "devices", 1, l.send(t, "POST", "/v1/devices", `{"label":"TV"}`, "Idempotency-Key: b"))

	if made := l.send(t, "POST", "/v1/worlds", `{"world_id":"north-7"}`); made.status != http.StatusCreated {
		t.Fatalf("a world: %d %s", made.status, made.body)
	}
	l.send(t, "POST", "/v1/worlds", `{"world_id":"north-7"}`).expectProblem(t, http.StatusConflict, "world_exists")
	expectQuota(t, "worlds", 1, l.send(t, "POST", "/v1/worlds", `{"world_id":"north-8"}`))

	const orders = "/v1/collections/orders"
	if made := l.send(t, "PUT", orders, `{}`); made.status != http.StatusCreated {
		t.Fatalf("a collection: %d %s", made.status, made.body)
	}
	expectAgain(t, "a record", func() reply {
		return l.send(t, "PUT", orders+at("a"), publication("first", map[string]string{"items": "12345"}), "If-None-Match: *")
	})
	expectQuota(t, "body_bytes", 5, l.send(t, "PUT", orders+at("b"), publication("second", map[string]string{"items": "1"}), "If-None-Match: *"))
	if shorter := l.send(t, "PUT", orders+at("a"), publication("third", map[string]string{"items": "1"}), `If-Match: "1"`); shorter.status != http.StatusOK {
		t.Errorf("what makes room: %d %s", shorter.status, shorter.body)
	}
	if fits := l.send(t, "PUT", orders+at("b"), publication("fourth", map[string]string{"items": "1234"}), "If-None-Match: *"); fits.status != http.StatusOK {
		t.Errorf("into the room that was made: %d %s", fits.status, fits.body)
	}

	// An import ends where the tenant is full, and is sent again when there is room.
	expectQuota(t, "accounts", 1, l.send(t, "POST", "/v1/accounts/import", `{"key":"k","account":{"handle":"eve"}}`+"\n", "Content-Type: application/x-ndjson"))
}
