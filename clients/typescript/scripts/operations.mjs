// Makes the table of what the client must know of each operation, beside its types:
// whether it may be sent again, and what a list's items are called.
//
//     node scripts/operations.mjs openapi.yaml operations.gen.ts
import { readFileSync, writeFileSync } from "node:fs";
import { parse } from "yaml";

const [source, target] = process.argv.slice(2);
const document = parse(readFileSync(source, "utf8"));

const resolve = (value) => {
  while (value?.$ref) {
    value = value.$ref
      .slice(2)
      .split("/")
      .reduce((at, name) => at[name], document);
  }
  return value;
};

const methods = ["get", "put", "post", "delete", "patch"];
const operations = {};
const lists = {};
for (const [path, item] of Object.entries(document.paths)) {
  for (const method of methods) {
    const operation = item[method];
    if (operation === undefined) continue;
    const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(resolve);
    const has = (where, name) => parameters.some((p) => p.in === where && p.name === name);
    const facts = {};
    if (has("header", "Idempotency-Key")) facts.key = true;
    // What is read or put says how things are to be, and x-holdfast-repeatable is the
    // document's own word for the rest.
    if (method === "get" || method === "put" || operation["x-holdfast-repeatable"] === true) facts.repeatable = true;
    const media = Object.keys(resolve(operation.requestBody)?.content ?? {});
    if (media.length > 0 && !media.includes("application/json")) facts.media = media[0];
    if (Object.keys(facts).length > 0) operations[`${method.toUpperCase()} ${path}`] = facts;
    if (method !== "get" || !has("query", "cursor")) continue;
    const answer = operation.responses["200"].content["application/json"];
    if (answer === undefined) continue; // a stream, which goes on from a cursor
    const page = resolve(answer.schema);
    const arrays = Object.entries(page.properties).filter(([, property]) => resolve(property).type === "array");
    if (arrays.length !== 1) throw new Error(`${path}: a page must have one array, and has ${arrays.length}`);
    // A feed says in each page whether others stand behind it, and has no last one.
    lists[path] = { items: arrays[0][0], feed: page.properties.more !== undefined };
  }
}

const literal = (value) => JSON.stringify(value, null, 2).replaceAll(/\n {4}("\w+": .*)/g, " $1").replaceAll(/\n {2}\}/g, " }");

writeFileSync(
  target,
  `// Made by scripts/operations.mjs from web/openapi.yaml. Do not edit.

/** What must be known of an operation beside its types. */
export interface OperationFacts {
  /** It takes an Idempotency-Key. */
  readonly key?: boolean;
  /** The same request again finds what the first one did, or changes nothing. */
  readonly repeatable?: boolean;
  /** What it takes, where that isn't application/json. */
  readonly media?: string;
}

/** By method and path, those of which there is anything to say. */
export const operations: Readonly<Record<string, OperationFacts>> = ${literal(operations)};

/** By their paths, the lists that go on by a cursor, and what their items are called. */
export const lists = ${literal(lists)} as const;
`,
);
