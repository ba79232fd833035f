import { type FunctionTool, tool } from "@openai/agents";
import type { UimClient } from "./client.js";
import { type ToolOptions, toolSpecs } from "./tools.js";

export type { ToolOptions } from "./tools.js";

/** Returns the intents of a service as tools of the OpenAI Agents SDK. The service itself checks the arguments. */
export async function tools(client: UimClient, options: ToolOptions = {}): Promise<FunctionTool<unknown, any, string>[]> {
  return (await toolSpecs(client, options)).map(
    (spec) =>
      tool({
        name: spec.name,
        description: spec.description,
        strict: false,
        parameters: { ...spec.schema, additionalProperties: true } as never,
        execute: async (args: unknown, _context: unknown, details?: { signal?: AbortSignal }) =>
          JSON.stringify(await spec.call(args, details?.signal)),
      }) as FunctionTool<unknown, any, string>,
  );
}
