import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { digestOf, followExport, importAccounts, isRecordConflict, publish, readBody, readRecord, UnverifiedBodyError } from "../src/index.js";
import { drop, json, refuse, serve } from "./service.js";

const sha = (text: string | Buffer) => createHash("sha256").update(text).digest("hex");
const section = (text: string, sequence = 1) => ({
  live: true, digest: sha(text), length: Buffer.byteLength(text), body: Buffer.from(text).toString("base64"), producer: "p", export_sequence: sequence,
});
const at = { collection: "orders", key: "4711", section: "items" };

test("a publication keeps its operation id until there is an answer", async (t) => {
  const receipt = { outcome: "published", revision: 1, changes: [{ section: "items", digest: sha("two apples"), length: 10 }] };
  const s = await serve(t, (response, n) => (n === 1 ? drop(response) : json(response, 200, receipt)));
  assert.equal((await publish(s.client, { ...at, expect: { absent: true }, sections: { items: "two apples" } })).revision, 1);
  assert.equal(s.seen[0]?.body, s.seen[1]?.body);
  assert.equal(s.seen[0]?.headers["if-none-match"], "*");
  const sent = JSON.parse(s.seen[0]?.body ?? "") as { operation_id: string; sections: { items: { body: string } } };
  assert.match(sent.operation_id, /^[0-9a-f]{32}$/);
  assert.equal(Buffer.from(sent.sections.items.body, "base64").toString(), "two apples");
});

test("each expectation is said where it belongs", async (t) => {
  const s = await serve(t, (response) => json(response, 200, { outcome: "published", revision: 2, changes: [] }));
  const change = { ...at, tombstones: ["plans"], operationId: "op-1" };
  await publish(s.client, { ...change, expect: { revision: 7 }, lease: "3.secret", producer: "importer" });
  await publish(s.client, { ...change, expect: { digests: { items: sha("x"), plans: null } } });
  await publish(s.client, { ...change, expect: { fence: { key: "night", revision: 3 } } });
  assert.equal(s.seen[0]?.headers["if-match"], '"7"');
  assert.equal(s.seen[0]?.headers["holdfast-lease"], "3.secret");
  assert.deepEqual(s.seen.map(({ body }) => JSON.parse(body) as unknown), [
    { operation_id: "op-1", producer: "importer", tombstones: ["plans"] },
    { operation_id: "op-1", tombstones: ["plans"], expect: { items: sha("x"), plans: null } },
    { operation_id: "op-1", tombstones: ["plans"], fence: { key: "night", revision: 3 } },
  ]);
});

test("large bodies go as they are, and again so", async (t) => {
  const large = Buffer.alloc(64 << 10, "é\0\r\n--");
  const s = await serve(t, (response, n) =>
    n === 1 ? drop(response) : json(response, 200, { outcome: "published", revision: 1, changes: [{ section: "plans", digest: sha(large), length: large.length }] }));
  await publish(s.client, { ...at, expect: { absent: true }, sections: { plans: large } });
  assert.equal(s.seen[0]?.body, s.seen[1]?.body);
  assert.equal(s.seen[1]?.headers["content-type"], s.seen[0]?.headers["content-type"]);
  assert.match(s.seen[1]?.headers["content-type"] ?? "", /^multipart\/form-data; boundary=/);
  assert.ok(s.seen[1]?.body.includes(large.toString("latin1")), "the bytes are not those of the body");
  assert.match(s.seen[1]?.body ?? "", /name="publication"[^{]*application\/json\r\n\r\n\{"operation_id"/i);
});

test("a conflict is thrown with the record as it stands", async (t) => {
  const s = await serve(t, (response) => refuse(response, 412, "revision_stale", { record: { revision: 9, sections: {} } }));
  await assert.rejects(publish(s.client, { ...at, expect: { revision: 1 }, sections: { items: "" } }), (error) => isRecordConflict(error) && error.problem.record.revision === 9);
});

test("a receipt of another body is none", async (t) => {
  const s = await serve(t, (response) => json(response, 200, { outcome: "published", revision: 1, changes: [{ section: "items", digest: sha("other"), length: 5 }] }));
  await assert.rejects(publish(s.client, { ...at, expect: { absent: true }, sections: { items: "mine" } }), /another body/);
});

test("a body is given when its bytes are those of its digest", async (t) => {
  const s = await serve(t, (response, n, seen) => {
    const tag = `"${sha("hello")}"`;
    if (seen.headers["if-none-match"] === tag) return void response.writeHead(304, { ETag: tag }).end();
    response.writeHead(200, { "Content-Type": "application/octet-stream", ETag: tag }).end(n < 3 ? "hello" : "hellO");
  });
  const copy = await readBody(s.client, at);
  assert.equal(new TextDecoder().decode(copy.bytes), "hello");
  assert.equal(await readBody(s.client, at, copy), copy);
  await assert.rejects(readBody(s.client, at), UnverifiedBodyError);
});

test("an empty body is one too", async (t) => {
  const s = await serve(t, (response) => response.writeHead(200, { ETag: `"${sha("")}"`, "Content-Length": "0" }).end());
  assert.equal((await readBody(s.client, at)).bytes.length, 0);
});

test("a record is given when all its bodies are verified", async (t) => {
  const sections = { items: section("two apples"), plans: { ...section(""), live: false } };
  const s = await serve(t, (response, n) => {
    const items = n === 1 ? sections.items : { ...sections.items, body: btoa("two pears!") };
    json(response, 200, { key: "4711", revision: 1, sections: { ...sections, items } });
  });
  const { record, bodies } = await readRecord(s.client, "orders", "4711");
  assert.equal(record.revision, 1);
  assert.deepEqual(Object.keys(bodies), ["items"]);
  await assert.rejects(readRecord(s.client, "orders", "4711"), UnverifiedBodyError);
});

test("an export is followed in order, from where it was left, to its end", async (t) => {
  const s = await serve(t, (response, n, seen) => {
    const sequence = 4 + n;
    assert.equal(new URL(seen.url, "http://x").searchParams.get("after"), String(sequence - 1));
    json(response, 200, { records: [{ key: "4711", section: "items", ...section(`v${n}`, sequence) }], next: sequence, more: n < 2 });
  });
  const bodies: string[] = [];
  for await (const page of followExport(s.client, "orders", { after: 4, bodies: true, untilCaughtUp: true })) {
    for (const { body } of page.changes) bodies.push(new TextDecoder().decode(body?.bytes));
  }
  assert.deepEqual(bodies, ["v1", "v2"]);
});

test("an export that goes back is none", async (t) => {
  const s = await serve(t, (response) => json(response, 200, { records: [{ key: "k", section: "items", ...section("x", 3) }], next: 3, more: false }));
  await assert.rejects(followExport(s.client, "orders", { after: 3, untilCaughtUp: true }).next(), /behind/);
});

test("an import sends many lines in few requests, and numbers the results through", async (t) => {
  const s = await serve(t, (response, _, seen) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    const lines = seen.body.trimEnd().split("\n");
    response.end(lines.map((_, i) => JSON.stringify({ line: i + 1, result: "created" }) + "\n").join(""));
  });
  const lines = Array.from({ length: 1500 }, (_, i) => ({ key: `k${i}`, account: { handle: `h${i}` } }));
  let last = 0;
  for await (const result of importAccounts(s.client, lines)) assert.equal(result.line, ++last);
  assert.equal(last, 1500);
  assert.equal(s.seen.length, 2);
  assert.equal(s.seen[0]?.headers["content-type"], "application/x-ndjson");
});

test("a device asks for codes in a form", async (t) => {
  const s = await serve(t, (response) => json(response, 200, { user_code: "WDJB-MJHT" }));
  await s.client.POST("/v1/oauth/device_authorization", { body: { client_id: "hfc_1" }, bodySerializer: (body) => new URLSearchParams(body as Record<string, string>) });
  assert.equal(s.seen[0]?.body, "client_id=hfc_1");
  assert.match(s.seen[0]?.headers["content-type"] ?? "", /^application\/x-www-form-urlencoded/);
});

test("an import whose results break off says so", async (t) => {
  const s = await serve(t, (response) => response.writeHead(200, { "Content-Type": "application/x-ndjson" }).end('{"line":1,"result":"created"}\n{"li'));
  await assert.rejects(async () => {
    for await (const _ of importAccounts(s.client, [{ key: "a" }, { key: "b" }])) void _;
  }, /1 results came of 2 lines/);
});

test("a digest is the SHA-256", async () => {
  assert.equal(await digestOf(new TextEncoder().encode("hello")), sha("hello"));
});
