import type { HoldfastClient } from "./client.js";
import type { Schemas } from "./schemas.js";
import { jsonLines } from "./streams.js";

/** A request has at most so many lines: well within what the service takes. */
const LINES = 1000;

/**
 * Imports lines in as many requests as they need, and gives their results in the same
 * order, numbered from 1 through all of them. A line that failed is a result like any
 * other. What is thrown leaves open which lines were imported; it is safe to send them,
 * or everything, again: a line finds what it made by its key.
 */
export async function* importAccounts(client: HoldfastClient, lines: Iterable<Schemas["ImportLine"]> | AsyncIterable<Schemas["ImportLine"]>): AsyncGenerator<Schemas["ImportResult"], void, undefined> {
  let done = 0;
  let batch: string[] = [];
  for await (const line of lines) {
    if (batch.push(JSON.stringify(line)) < LINES) continue;
    yield* send(client, batch, done);
    done += batch.length;
    batch = [];
  }
  if (batch.length > 0) yield* send(client, batch, done);
}

async function* send(client: HoldfastClient, batch: readonly string[], done: number): AsyncGenerator<Schemas["ImportResult"], void, undefined> {
  const { data } = await client.POST("/v1/accounts/import", {
    body: batch as never, // as the serializer has it
    bodySerializer: () => batch.join("\n") + "\n",
    parseAs: "stream",
  });
  let came = 0;
  if (data !== null) {
    for await (const result of jsonLines<Schemas["ImportResult"]>(data)) {
      came++;
      yield { ...result, line: result.line + done };
    }
  }
  if (came !== batch.length) throw new Error(`holdfast: ${came} results came of ${batch.length} lines`);
}
