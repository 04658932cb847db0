import assert from "node:assert/strict";
import { test } from "node:test";
import { isProblem, isRecordConflict } from "../src/index.js";
import { json, refuse, serve } from "./service.js";

const create = { body: { handle: "ada" } };

test("a refusal says all that the service says", async (t) => {
  const s = await serve(t, (response) => refuse(response, 422, "validation_failed", { errors: [{ pointer: "/handle", code: "handle_invalid" }] }));
  await assert.rejects(s.client.POST("/v1/accounts", create), (error) => {
    assert.ok(isProblem(error, "handle_taken", "validation_failed"));
    assert.equal(error.status, 422);
    assert.equal(error.detail, "D.");
    assert.equal(error.requestId, "r1");
    assert.equal(error.retryAfter, undefined);
    assert.deepEqual(error.errors, [{ pointer: "/handle", code: "handle_invalid" }]);
    assert.match(error.message, /validation_failed \(422\): D\. \[request r1\]/);
    return !isProblem(error, "handle_taken") && !isRecordConflict(error);
  });
});

test("a conflict shows the record", async (t) => {
  const record = { collection: "orders", key: "4711", revision: 3, live: true, sections: {} };
  const s = await serve(t, (response) => refuse(response, 412, "revision_stale", { record }));
  await assert.rejects(s.client.POST("/v1/accounts", create), (error) => isRecordConflict(error) && error.problem.record.revision === 3);
});

test("what isn't the service's has a status and no code", async (t) => {
  const s = await serve(t, (response) => response.writeHead(404, { "X-Request-Id": "r7" }).end("<html>not here</html>"));
  await assert.rejects(s.client.POST("/v1/accounts", create), (error) => isProblem(error) && error.code === "" && error.status === 404 && error.requestId === "r7");
});

test("what has no body has no data", async (t) => {
  const s = await serve(t, (response) => response.writeHead(204).end());
  const { data, response } = await s.client.DELETE("/v1/worlds/{world_id}", { params: { path: { world_id: "north-7" } } });
  assert.equal(data, undefined);
  assert.equal(response.status, 204);
});

test("ids of a caller's own stay what they are in a path", async (t) => {
  const s = await serve(t, (response) => json(response, 200, { sections: {} }));
  await s.client.GET("/v1/collections/{collection}/records/{key}", { params: { path: { collection: "w:north", key: "2026/1?é" } } });
  assert.equal(s.seen[0]?.url, "/v1/collections/w%3Anorth/records/2026%2F1%3F%C3%A9");
});
