// What an application does with Holdfast: accounts and a race for one email, a world and
// its journal, records and their export.
//
//     HOLDFAST_URL=http://127.0.0.1:8080 HOLDFAST_API_KEY=hf_… node build/example/tour.js
import assert from "node:assert/strict";
import {
  append, createClient, followExport, followJournal, isProblem, isRecordConflict, items, publish, readBody, readRecord,
  type HoldfastClient,
} from "@holdfast-dev/client";

const { HOLDFAST_URL: baseUrl = "http://127.0.0.1:8080", HOLDFAST_API_KEY: apiKey = "" } = process.env;
const run = Date.now().toString(36);

async function accounts(client: HoldfastClient): Promise<void> {
  // The key makes it safe to send again, and the client adds one by itself. With one of
  // the application's own a crash in between does no harm either.
  const { data: ada, response } = await client.POST("/v1/accounts", {
    body: { handle: `ada-${run}`, email: `ada-${run}@example.com`, email_verified: true },
    params: { header: { "Idempotency-Key": `signup-${run}` } },
  });
  console.log(`Made ${ada.handle}, at revision ${ada.revision}.`);

  const again = await client.POST("/v1/accounts", {
    body: { handle: `ada-${run}`, email: `ada-${run}@example.com`, email_verified: true },
    params: { header: { "Idempotency-Key": `signup-${run}` } },
  });
  assert.equal(again.data.id, ada.id);
  assert.equal(again.response.headers.get("Idempotent-Replayed"), "true");
  console.log("The same under the same key is the same account.");

  // A change names the revision that it was made from.
  const etag = response.headers.get("ETag") ?? "";
  const rename = (display_name: string) =>
    client.PATCH("/v1/accounts/{account_id}", {
      params: { path: { account_id: ada.id }, header: { "If-Match": etag } },
      body: { display_name },
    });
  const { data: renamed } = await rename("Ada Lovelace");
  assert.equal(renamed.revision, ada.revision + 1);
  await assert.rejects(rename("Somebody else"), (error) => isProblem(error, "revision_stale"));
  console.log("A change of the former revision is refused.");
}

/** Ten sign up with one email at once. */
async function race(client: HoldfastClient): Promise<void> {
  const email = `prize-${run}@example.com`;
  const attempts = await Promise.allSettled(
    Array.from({ length: 10 }, (_, i) => client.POST("/v1/accounts", { body: { handle: `racer-${i}-${run}`, email, email_verified: true } })),
  );
  const winners = attempts.flatMap((attempt) => (attempt.status === "fulfilled" ? [attempt.value.data] : []));
  for (const attempt of attempts) {
    if (attempt.status === "rejected") assert.ok(isProblem(attempt.reason, "email_taken"), String(attempt.reason));
  }
  assert.equal(winners.length, 1);
  const { data: owner } = await client.POST("/v1/accounts/lookup", { body: { email } });
  assert.equal(owner.id, winners[0]?.id);
  console.log(`Ten raced for ${email}, and ${owner.handle} has it.`);

  const handles: string[] = [];
  for await (const account of items(client, "/v1/accounts", { params: { query: { limit: 1 } } })) handles.push(account.handle);
  assert.equal(handles.filter((handle) => handle.endsWith(run)).length, 2); // the losers left nothing behind
  console.log(`The directory has ${handles.length} accounts.`);
}

async function world(client: HoldfastClient): Promise<void> {
  const id = `north-${run}`;
  await client.POST("/v1/worlds", { body: { world_id: id } });

  // It is followed while it is written to.
  const stop = new AbortController();
  const sum = (async () => {
    let sum = 0;
    for await (const { kind, json } of followJournal(client, id, { signal: stop.signal })) {
      if (kind === "entry") sum += (json as { add: number }).add;
      if (sum === 6) return sum;
    }
    return sum;
  })();
  for (const add of [1, 2, 3]) {
    const receipt = await append(client, id, [{ entry_id: `turn-${add}`, json: { add } }]);
    console.log(`Turn ${add} is at position ${receipt.positions[0]}.`);
  }
  const repeated = await append(client, id, [{ entry_id: "turn-3", json: { add: 3 } }]);
  assert.ok(repeated.replayed);
  assert.equal(await sum, 6);
  stop.abort();
  console.log("Whoever follows has the sum 6, each turn once.");
}

async function records(client: HoldfastClient): Promise<void> {
  const collection = `orders-${run}`;
  await client.PUT("/v1/collections/{collection}", { params: { path: { collection } }, body: {} });
  const first = await publish(client, { collection, key: "2026/1", expect: { absent: true }, sections: { items: "two apples" } });
  const { record, bodies } = await readRecord(client, collection, "2026/1");
  assert.equal(new TextDecoder().decode(bodies.items?.bytes), "two apples");

  const change = { collection, key: "2026/1", expect: { revision: first.revision }, sections: { items: "two apples and a pear" } };
  const second = await publish(client, change);
  console.log(`Published ${record.key}, and changed it to revision ${second.revision}.`);
  await assert.rejects(publish(client, change), (error) => isRecordConflict(error) && error.problem.record.revision === second.revision);

  const at = { collection, key: "2026/1", section: "items" };
  const copy = await readBody(client, at);
  assert.equal(await readBody(client, at, copy), copy); // not sent again

  const plan = new Uint8Array(200_000).fill(7);
  await publish(client, { collection, key: "2026/2", expect: { absent: true }, sections: { items: plan } });
  const index = new Map<string, number>();
  for await (const page of followExport(client, collection, { bodies: true, untilCaughtUp: true })) {
    for (const { section, body } of page.changes) index.set(`${section.key} ${section.section}`, body?.bytes.length ?? 0);
  }
  assert.deepEqual([...index], [["2026/1 items", 21], ["2026/2 items", 200_000]]);
  console.log(`The index has ${index.size} bodies, each verified.`);
}

const client = createClient({ baseUrl, apiKey });
for (const chapter of [accounts, race, world, records]) await chapter(client);
