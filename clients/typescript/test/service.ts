import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { createClient, type ClientOptions, type HoldfastClient } from "../src/index.js";

export const KEY = "hf_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/** A request that came to the service. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Answers the n-th request, from 1. */
export type Answer = (response: ServerResponse, n: number, seen: Seen) => void;

/** A service that answers as it is told, and sells tokens. */
export interface Service {
  readonly url: string;
  readonly client: HoldfastClient;
  /** What came, but for purchases of tokens. */
  readonly seen: Seen[];
  /** How many tokens were sold. */
  sold: number;
  /** How long the tokens last, in seconds. */
  lifetime: number;
}

/** Starts a service on a free port, which ends with the test. */
export async function serve(t: TestContext, answer: Answer, options: Partial<ClientOptions> = {}): Promise<Service> {
  const server = createServer((request, response) => {
    void readAll(request).then((body) => {
      if (request.url === "/v1/oauth/token") {
        sell(service, request, response);
        return;
      }
      const seen = { method: request.method ?? "", url: request.url ?? "", headers: request.headers, body };
      service.seen.push(seen);
      answer(response, service.seen.length, seen);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const service: Service = { url, client: createClient({ baseUrl: url, apiKey: KEY, ...options }), seen: [], sold: 0, lifetime: 900 };
  return service;
}

function sell(service: Service, request: IncomingMessage, response: ServerResponse): void {
  service.sold++;
  if (request.headers.authorization !== `Basic ${btoa(`hf_0123456789abcdef:${KEY}`)}`) {
    json(response, 401, { error: "invalid_client", error_description: "No such key." });
    return;
  }
  json(response, 200, { access_token: `token-${service.sold}`, token_type: "Bearer", expires_in: service.lifetime });
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("latin1");
}

export function json(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Refuses as the service does. */
export function refuse(response: ServerResponse, status: number, code: string, more: object = {}, headers: Record<string, string> = {}): void {
  const problem = { type: `urn:holdfast:problem:${code}`, title: "T", status, code, detail: "D.", request_id: "r1", ...more };
  response.writeHead(status, { "Content-Type": "application/problem+json", ...headers }).end(JSON.stringify(problem));
}

/** Drops the connection without an answer. */
export function drop(response: ServerResponse): void {
  response.socket?.destroy();
}

export const account = { id: "01930000-0000-7000-8000-000000000001", revision: 1, status: "active", handle: "ada" };
