import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const run = promisify(execFile);

interface Manifest {
  readonly dependencies: Record<string, string>;
  readonly exports: Record<string, unknown>;
}

// What a tenant gets is what is packed, and not this folder.
test("the package has what a program needs, and nothing else", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-client-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const packed = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder]);
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  assert.deepEqual(paths.filter((path) => !/^(package\.json|README\.md|dist\/[a-z]+(\.gen)?\.(js|d\.ts))$/.test(path)), []);
  for (const path of ["README.md", "package.json", "dist/index.js", "dist/index.d.ts", "dist/schema.gen.d.ts"]) assert.ok(paths.includes(path), path);

  const installed = join(folder, "node_modules/@holdfast-dev/client");
  await mkdir(installed, { recursive: true });
  await run("tar", ["-xzf", join(folder, filename), "-C", installed, "--strip-components=1"]);
  const manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Manifest;
  assert.deepEqual(Object.keys(manifest.dependencies), ["openapi-fetch"]);
  for (const name of ["openapi-fetch", "openapi-typescript-helpers"]) {
    await symlink(join(process.cwd(), "node_modules", name), join(folder, "node_modules", name));
  }

  // It runs, and a strict program finds its types.
  await writeFile(join(folder, "program.mjs"), `import { createClient, isProblem } from "@holdfast-dev/client";
    console.log(typeof createClient({ baseUrl: "http://holdfast.test", apiKey: "hf_00_x" }).GET, isProblem(new Error()));`);
  assert.equal((await run("node", [join(folder, "program.mjs")])).stdout, "function false\n");
  await writeFile(join(folder, "package.json"), `{"type": "module"}`);
  await writeFile(join(folder, "program.ts"), `import { createClient, items, type Schemas } from "@holdfast-dev/client";
    const client = createClient({ baseUrl: "http://holdfast.test", apiKey: undefined as string | undefined });
    export async function first(): Promise<Schemas["Account"] | undefined> {
      for await (const account of items(client, "/v1/accounts", {})) return account;
      return undefined;
    }
    // @ts-expect-error: no such operation
    void client.GET("/v1/account");`);
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({
    compilerOptions: { strict: true, exactOptionalPropertyTypes: true, noEmit: true, module: "nodenext", target: "es2022", lib: ["es2022", "dom", "dom.asynciterable"], types: [] },
  }));
  const compiler = join(process.cwd(), "node_modules/typescript/bin/tsc");
  await run("node", [compiler, "--project", folder]).catch((error: { stdout: string }) => assert.fail(error.stdout));
});
