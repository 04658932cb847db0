import type { components, operations, paths } from "./schema.gen.js";

/** The description's types by their names: Schemas["Account"]. */
export type Schemas = components["schemas"];

export type { operations as Operations, paths as Paths };
