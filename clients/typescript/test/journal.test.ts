import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { append, followJournal, GapError, isProblem, readJournal } from "../src/index.js";
import { drop, json, refuse, serve } from "./service.js";

const entry = (position: number) => JSON.stringify({ position, kind: "entry", json: { add: position } });
const event = (position: number) => `id: ${position}\nevent: entry\ndata: ${entry(position)}\n\n`;
const stream = (response: ServerResponse, type: string) => response.writeHead(200, { "Content-Type": type });
const after = (url: string) => new URL(url, "http://x").searchParams.get("after");

test("entries without ids get them, and are sent again as they were", async (t) => {
  const s = await serve(t, (response, n) => (n === 1 ? drop(response) : json(response, 201, { positions: [2, 3] })));
  const receipt = await append(s.client, "north-7", [{ json: { add: 1 } }, { entry_id: "mine", json: { add: 2 } }], { lease: "3.secret", ifPosition: 1 });
  assert.deepEqual(receipt.positions, [2, 3]);
  assert.equal(s.seen[0]?.body, s.seen[1]?.body);
  assert.equal(s.seen[0]?.headers["holdfast-lease"], "3.secret");
  const sent = JSON.parse(s.seen[0]?.body ?? "") as { entries: { entry_id: string }[]; if_position: number };
  assert.match(sent.entries[0]?.entry_id ?? "", /^[0-9a-f]{32}$/);
  assert.equal(sent.entries[1]?.entry_id, "mine");
  assert.equal(sent.if_position, 1);
});

test("a journal that breaks off is read on behind the last whole line", async (t) => {
  const s = await serve(t, (response, n) => {
    stream(response, "application/x-ndjson");
    if (n === 1) response.write(`${entry(3)}\n${entry(4)}\n{"position":5,`, () => drop(response));
    else response.end(`${entry(5)}\n${entry(6)}\n`);
  });
  const positions: number[] = [];
  for await (const { position } of readJournal(s.client, "north-7", { after: 2 })) positions.push(position);
  assert.deepEqual(positions, [3, 4, 5, 6]);
  assert.deepEqual(s.seen.map(({ url }) => after(url)), ["2", "4"]);
  assert.equal(s.seen[0]?.headers.accept, "application/x-ndjson");
});

test("a stream is followed through lost connections, and nothing is missed or comes twice", async (t) => {
  const s = await serve(t, (response, n) => {
    stream(response, "text/event-stream");
    if (n === 1) response.write(`: hello\n\n${event(1)}${event(2)}id: 3\ndata: {"posit`, () => drop(response));
    else if (n === 2) response.end(event(3)); // as after an hour
    else response.write(`${event(4)}\n`);
  });
  const controller = new AbortController();
  const positions: number[] = [];
  await assert.rejects(async () => {
    for await (const { position } of followJournal(s.client, "north-7", { signal: controller.signal })) {
      positions.push(position);
      if (position === 4) controller.abort(new Error("enough"));
    }
  }, /enough/);
  assert.deepEqual(positions, [1, 2, 3, 4]);
  assert.deepEqual(s.seen.map(({ url }) => after(url)), ["0", "2", "3"]);
});

test("an entry that isn't the next one is no entry", async (t) => {
  const s = await serve(t, (response) => stream(response, "text/event-stream").write(event(1) + event(3)));
  await assert.rejects(async () => {
    for await (const _ of followJournal(s.client, "north-7")) void _;
  }, GapError);
});

test("what the service refuses ends the following", async (t) => {
  const s = await serve(t, (response) => refuse(response, 422, "position_ahead", { position: 7 }));
  await assert.rejects(followJournal(s.client, "north-7", { after: 9 }).next(), (error) => isProblem(error, "position_ahead") && error.problem.position === 7);
});

test("whoever breaks off leaves no stream open", async (t) => {
  let close = () => {};
  const closed = new Promise<void>((resolve) => (close = resolve));
  const s = await serve(t, (response) => {
    response.on("close", () => close());
    stream(response, "text/event-stream").write(event(1));
  });
  for await (const { position } of followJournal(s.client, "north-7")) if (position === 1) break;
  await closed;
});
