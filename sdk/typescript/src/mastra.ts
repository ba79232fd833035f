import { createTool } from "@mastra/core/tools";
import type { UimClient } from "./client.js";
import { type ToolOptions, toolSpecs } from "./tools.js";

export type { ToolOptions } from "./tools.js";

/** Returns the intents of a service as tools of Mastra, by their names. */
export async function tools(client: UimClient, options: ToolOptions = {}): Promise<Record<string, ReturnType<typeof createTool>>> {
  const specs = await toolSpecs(client, options);
  return Object.fromEntries(
    specs.map((spec) => [
      spec.name,
      createTool({
        id: spec.name,
        description: spec.description,
        inputSchema: spec.schema as never,
        execute: async (args: unknown, context?: { abortSignal?: AbortSignal }) => spec.call(args, context?.abortSignal),
      }) as unknown as ReturnType<typeof createTool>,
    ]),
  );
}
