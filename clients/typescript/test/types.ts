// What the compiler must accept, and what it must refuse. It is never run: that it compiles
// is the test.
import { createClient, items, pages } from "../src/index.js";

const client = createClient({ baseUrl: "http://holdfast.test", apiKey: "hf_00_x" });

export async function accepted(): Promise<void> {
  const { data: account } = await client.POST("/v1/accounts", { body: { handle: "ada" } });
  const id: string = account.id;
  const params = { path: { account_id: id } };
  const gone: undefined = (await client.DELETE("/v1/accounts/{account_id}", { params: { ...params, header: { "If-Match": '"1"' } } })).data;
  // Of what answers in JSON and as lines, it is the JSON.
  const journal = await client.GET("/v1/worlds/{world_id}/journal", { params: { path: { world_id: "north-7" } } });
  const more: boolean = journal.data.more;
  const section = { path: { collection: "orders", key: "4711", section: "items" } };
  const body: ArrayBuffer = (await client.GET("/v1/collections/{collection}/records/{key}/sections/{section}/body", { params: section, parseAs: "arrayBuffer" })).data;
  await client.GET("/v1/identity/recovery");
  for await (const { handle } of items(client, "/v1/accounts", { params: { query: { status: "active" } } })) handle satisfies string;
  for await (const { world_id } of items(client, "/v1/worlds", {})) world_id satisfies string;
  for await (const page of pages(client, "/v1/collections/{collection}/records", { params: { path: { collection: "orders" } } })) {
    page.records satisfies readonly { key: string }[];
  }
  void [gone, more, body];
}

export async function refused(): Promise<void> {
  // @ts-expect-error: no such operation
  await client.GET("/v1/account");
  // @ts-expect-error: that path doesn't know the method
  await client.PUT("/v1/accounts", {});
  // @ts-expect-error: the body is missing
  await client.POST("/v1/accounts");
  // @ts-expect-error: no such field
  await client.POST("/v1/accounts", { body: { name: "ada" } });
  // @ts-expect-error: the path's parameter is missing
  await client.GET("/v1/accounts/{account_id}", {});
  // @ts-expect-error: the path's parameter is missing
  items(client, "/v1/collections/{collection}/records", {});
  // @ts-expect-error: that is no list
  items(client, "/v1/identity/recovery", {});
}
