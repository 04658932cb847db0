import assert from "node:assert/strict";
import { test } from "node:test";
import { isProblem, ProblemError } from "../src/index.js";
import { account, drop, json, refuse, serve } from "./service.js";

const lookup = { body: { handle: "ada" } };

test("what reads is sent again when no answer came", async (t) => {
  const s = await serve(t, (response, n) => (n < 3 ? drop(response) : json(response, 200, account)));
  const { data } = await s.client.GET("/v1/accounts/{account_id}", { params: { path: { account_id: account.id } } });
  assert.equal(data.handle, "ada");
  assert.equal(s.seen.length, 3);
});

test("what the document says is repeatable is sent again, with its body", async (t) => {
  const s = await serve(t, (response, n) => (n === 1 ? drop(response) : json(response, 200, account)));
  await s.client.POST("/v1/accounts/lookup", lookup);
  assert.deepEqual(s.seen.map(({ body }) => body), ['{"handle":"ada"}', '{"handle":"ada"}']);
});

test("an answer that breaks off is asked for again", async (t) => {
  const s = await serve(t, (response, n) => {
    if (n > 1) return json(response, 200, account);
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": "1000" });
    response.write('{"handle":', () => drop(response));
  });
  const { data } = await s.client.POST("/v1/accounts/lookup", lookup);
  assert.equal(data.handle, "ada");
});

test("what creates has one idempotency key through all its tries, and another the next time", async (t) => {
  const s = await serve(t, (response, n) => (n === 1 ? drop(response) : json(response, 201, account)));
  await s.client.POST("/v1/accounts", { body: { handle: "ada" } });
  await s.client.POST("/v1/accounts", { body: { handle: "bob" } });
  const keys = s.seen.map(({ headers }) => headers["idempotency-key"]);
  assert.match(String(keys[0]), /^[0-9a-f]{32}$/);
  assert.equal(keys[1], keys[0]);
  assert.notEqual(keys[2], keys[0]);
});

test("a key of the caller's own is kept", async (t) => {
  const s = await serve(t, (response) => json(response, 201, account));
  await s.client.POST("/v1/accounts", { body: { handle: "ada" }, params: { header: { "Idempotency-Key": "signup-4711" } } });
  assert.equal(s.seen[0]?.headers["idempotency-key"], "signup-4711");
});

test("what could be done twice is not sent again when no answer came", async (t) => {
  const s = await serve(t, (response) => drop(response));
  await assert.rejects(s.client.PATCH("/v1/accounts/{account_id}", {
    params: { path: { account_id: account.id }, header: { "If-Match": '"1"' } },
    body: { status: "disabled" },
  }), TypeError);
  assert.equal(s.seen.length, 1);
});

test("the caller may say that it can't be done twice", async (t) => {
  const s = await serve(t, (response, n) => (n === 1 ? drop(response) : json(response, 201, { world_id: "north-7" })));
  await s.client.POST("/v1/worlds", { body: { world_id: "north-7" }, repeatable: true });
  assert.equal(s.seen.length, 2);
});

test("Retry-After is waited for", async (t) => {
  const s = await serve(t, (response, n) =>
    n === 1 ? refuse(response, 429, "rate_limited", {}, { "Retry-After": "1" }) : json(response, 200, account));
  const began = performance.now();
  await s.client.POST("/v1/accounts/lookup", lookup);
  assert.ok(performance.now() - began >= 1000, "it came too early");
});

test("a Retry-After that is too long is the caller's", async (t) => {
  const s = await serve(t, (response) => refuse(response, 503, "overloaded", {}, { "Retry-After": "31" }));
  await assert.rejects(s.client.POST("/v1/accounts/lookup", lookup), (error: ProblemError) => error.retryAfter === 31);
  assert.equal(s.seen.length, 1);
});

test("the service's invitation counts for any operation, and a gateway's for none that could be done twice", async (t) => {
  const invited = await serve(t, (response, n) =>
    n === 1 ? refuse(response, 429, "rate_limited", {}, { "Retry-After": "1" }) : json(response, 201, { world_id: "north-7" }));
  await invited.client.POST("/v1/worlds", { body: { world_id: "north-7" } });
  assert.equal(invited.seen.length, 2);

  const gateway = await serve(t, (response) => response.writeHead(503, { "Retry-After": "1" }).end("<html>"));
  await assert.rejects(gateway.client.POST("/v1/worlds", { body: { world_id: "north-7" } }), (error: ProblemError) => error.status === 503 && error.code === "");
  assert.equal(gateway.seen.length, 1);
});

test("a gateway's answer is tried again where that is safe", async (t) => {
  const s = await serve(t, (response, n) => (n === 1 ? response.writeHead(502).end() : json(response, 200, account)));
  await s.client.POST("/v1/accounts/lookup", lookup);
  assert.equal(s.seen.length, 2);
});

test("a refusal is not tried again", async (t) => {
  const s = await serve(t, (response) => refuse(response, 500, "internal"));
  await assert.rejects(s.client.POST("/v1/accounts/lookup", lookup), (error) => isProblem(error, "internal"));
  assert.equal(s.seen.length, 1);
});

test("it gives up after so many tries, with the last failure", async (t) => {
  const s = await serve(t, (response) => drop(response), { attempts: 2 });
  await assert.rejects(s.client.POST("/v1/accounts/lookup", lookup), TypeError);
  assert.equal(s.seen.length, 2);
});

test("a signal ends the waiting", async (t) => {
  const controller = new AbortController();
  const s = await serve(t, (response) => {
    refuse(response, 503, "overloaded", {}, { "Retry-After": "30" });
    setTimeout(() => controller.abort(new Error("enough")), 20);
  });
  await assert.rejects(s.client.POST("/v1/accounts/lookup", { ...lookup, signal: controller.signal }), /enough/);
  assert.equal(s.seen.length, 1);
});

test("a try that gets no answer in time is given up and made again", async (t) => {
  const s = await serve(t, (response, n) => {
    if (n > 1) json(response, 200, account);
  }, { timeout: 500 });
  await s.client.POST("/v1/accounts/lookup", lookup);
  assert.equal(s.seen.length, 2);
});
