import assert from "node:assert/strict";
import { test } from "node:test";
import { createClient, type ProblemError } from "../src/index.js";
import { account, json, KEY, refuse, serve } from "./service.js";

const lookup = { body: { handle: "ada" } };

test("many calls at once buy one token", async (t) => {
  const s = await serve(t, (response) => json(response, 200, account));
  await Promise.all(Array.from({ length: 20 }, () => s.client.POST("/v1/accounts/lookup", lookup)));
  assert.equal(s.sold, 1);
  assert.ok(s.seen.every(({ headers }) => headers.authorization === "Bearer token-1"));
});

test("a token is renewed before its end", async (t) => {
  const s = await serve(t, (response) => json(response, 200, account));
  s.lifetime = 29; // less than what is left to a request
  await s.client.POST("/v1/accounts/lookup", lookup);
  await s.client.POST("/v1/accounts/lookup", lookup);
  assert.deepEqual(s.seen.map(({ headers }) => headers.authorization), ["Bearer token-1", "Bearer token-2"]);
});

test("a token that is refused is bought again, once", async (t) => {
  const s = await serve(t, (response, n) => (n === 1 ? refuse(response, 401, "token_revoked") : json(response, 200, account)));
  await s.client.POST("/v1/accounts/lookup", lookup);
  assert.equal(s.sold, 2);

  const always = await serve(t, (response) => refuse(response, 401, "token_revoked"));
  await assert.rejects(always.client.POST("/v1/accounts/lookup", lookup), (error: ProblemError) => error.status === 401);
  assert.equal(always.seen.length, 2);
});

test("a caller who gives up doesn't end the purchase for the others", async (t) => {
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const s = await serve(t, (response) => json(response, 200, account));
  const client = createClient({
    baseUrl: s.url,
    apiKey: KEY,
    fetch: async (request) => {
      if (request.url.endsWith("/v1/oauth/token")) await held;
      return fetch(request);
    },
  });
  const controller = new AbortController();
  const first = client.POST("/v1/accounts/lookup", { ...lookup, signal: controller.signal });
  const second = client.POST("/v1/accounts/lookup", lookup);
  controller.abort(new Error("given up"));
  await assert.rejects(first, /given up/);
  release();
  assert.equal((await second).data.handle, "ada");
  assert.equal(s.sold, 1);
});

test("a key that the service doesn't know is its refusal", async (t) => {
  const s = await serve(t, (response) => json(response, 200, account));
  const client = createClient({ baseUrl: s.url, apiKey: "hf_ff_unknown" });
  await assert.rejects(client.POST("/v1/accounts/lookup", lookup), (error: ProblemError) => error.code === "invalid_client" && error.detail === "No such key.");
});

test("a key that is none is never shown", () => {
  assert.throws(() => createClient({ baseUrl: "http://x", apiKey: "topsecret" }), (error: Error) => !error.message.includes("topsecret"));
  assert.throws(() => createClient({ baseUrl: "http://x" }), /either/);
});

test("a program may bring tokens of its own", async (t) => {
  const s = await serve(t, (response) => json(response, 200, account));
  let given = 0;
  const client = createClient({ baseUrl: `${s.url}/`, token: () => `own-${++given}` });
  await client.POST("/v1/accounts/lookup", lookup);
  await client.POST("/v1/accounts/lookup", lookup);
  assert.deepEqual(s.seen.map(({ headers }) => headers.authorization), ["Bearer own-1", "Bearer own-2"]);
  assert.equal(s.sold, 0);
});
