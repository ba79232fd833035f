import { dynamicTool, jsonSchema } from "ai";
import type { UimClient } from "./client.js";
import { type ToolOptions, toolSpecs } from "./tools.js";

export type { ToolOptions } from "./tools.js";

/** Returns the intents of a service as tools of the Vercel AI SDK, by their names. */
export async function tools(client: UimClient, options: ToolOptions = {}): Promise<Record<string, ReturnType<typeof dynamicTool>>> {
  const specs = await toolSpecs(client, options);
  return Object.fromEntries(
    specs.map((spec) => [
      spec.name,
      dynamicTool({
        description: spec.description,
        inputSchema: jsonSchema(spec.schema as Parameters<typeof jsonSchema>[0]),
        execute: (args, { abortSignal }) => spec.call(args, abortSignal),
      }),
    ]),
  );
}
