/** The lines of a stream of UTF-8, without their ends. What stands behind the last end comes too, if `rest` says so. */
export async function* textLines(stream: ReadableStream<Uint8Array>, rest: boolean): AsyncGenerator<string, void, undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let pending = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      pending += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = pending.split("\n");
      pending = lines.pop() ?? "";
      for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
      if (!done) continue;
      if (rest && pending !== "") yield pending;
      return;
    }
  } finally {
    await reader.cancel().catch(() => undefined); // whoever breaks off leaves nothing open
  }
}

/** A stream of JSON values, one a line. A last line without an end was cut off, and isn't given. */
export async function* jsonLines<T>(stream: ReadableStream<Uint8Array>): AsyncGenerator<T, void, undefined> {
  for await (const line of textLines(stream, false)) {
    if (line !== "") yield JSON.parse(line) as T;
  }
}

/** A server-sent event. */
export interface ServerEvent {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

/**
 * The events of a stream (the HTML standard's "server-sent events"). What stands behind
 * the last blank line was cut off, and isn't given. A block of comments alone, which
 * keeps a connection alive, is undefined.
 */
export async function* serverEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent | undefined, void, undefined> {
  let id = "";
  let event = "";
  let data: string[] = [];
  for await (const line of textLines(stream, false)) {
    if (line === "") {
      yield data.length === 0 ? undefined : { id, event: event === "" ? "message" : event, data: data.join("\n") };
      event = "";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") data.push(value);
    else if (field === "event") event = value;
    else if (field === "id" && !value.includes("\0")) id = value;
  }
}
