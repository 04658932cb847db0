import assert from "node:assert/strict";
import { test } from "node:test";
import { followEvents, items, pages } from "../src/index.js";
import { json, serve, type Answer } from "./service.js";

/** Serves three pages of two accounts, and checks that each is asked for as the one before says. */
const threePages: Answer = (response, n, seen) => {
  const cursor = new URL(seen.url, "http://x").searchParams.get("cursor");
  assert.equal(cursor, n === 1 ? null : `c${n - 1}`);
  const accounts = [{ handle: `a${2 * n - 1}` }, { handle: `a${2 * n}` }];
  json(response, 200, n === 3 ? { accounts } : { accounts, next_cursor: `c${n}` });
};

test("a list is walked to its end, with its filters on each page", async (t) => {
  const s = await serve(t, threePages);
  const handles: string[] = [];
  for await (const { handle } of items(s.client, "/v1/accounts", { params: { query: { status: "active", limit: 2 } } })) handles.push(handle);
  assert.deepEqual(handles, ["a1", "a2", "a3", "a4", "a5", "a6"]);
  assert.ok(s.seen.every(({ url }) => url.includes("status=active") && url.includes("limit=2")));
});

test("whoever breaks off asks for no further page", async (t) => {
  const s = await serve(t, threePages);
  for await (const account of items(s.client, "/v1/accounts", {})) if (account.handle === "a2") break;
  assert.equal(s.seen.length, 1);
});

test("a walk goes on behind a cursor that was kept", async (t) => {
  const s = await serve(t, (response, _, seen) => {
    assert.match(seen.url, /cursor=kept/);
    json(response, 200, { worlds: [] });
  });
  for await (const page of pages(s.client, "/v1/worlds", { params: { query: { cursor: "kept" } } })) assert.deepEqual(page.worlds, []);
  assert.equal(s.seen.length, 1);
});

test("a feed is walked as far as it goes, though it always has a cursor", async (t) => {
  const s = await serve(t, (response, n) => json(response, 200, { events: [{ n }], next_cursor: `c${n}`, more: n < 2 }));
  let last: string | undefined;
  for await (const page of pages(s.client, "/v1/identity/events", {})) last = page.next_cursor;
  assert.equal(last, "c2");
});

test("a feed is followed until the signal ends it", async (t) => {
  const s = await serve(t, (response, n, seen) => {
    assert.equal(new URL(seen.url, "http://x").searchParams.get("cursor"), n === 1 ? "kept" : `c${n - 1}`);
    json(response, 200, { events: n === 2 ? [] : [{ n }], next_cursor: `c${n}`, more: false });
  });
  const controller = new AbortController();
  const seen: (string | undefined)[] = [];
  await assert.rejects(async () => {
    for await (const page of followEvents(s.client, { cursor: "kept", pause: 1, signal: controller.signal })) {
      seen.push(page.next_cursor);
      if (seen.length === 2) controller.abort(new Error("enough"));
    }
  }, /enough/);
  assert.deepEqual(seen, ["c1", "c3"]);
});
