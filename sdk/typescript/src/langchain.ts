import { DynamicStructuredTool } from "@langchain/core/tools";
import type { UimClient } from "./client.js";
import { type ToolOptions, toolSpecs } from "./tools.js";

export type { ToolOptions } from "./tools.js";

/** Returns the intents of a service as tools of LangChain.js. */
export async function tools(client: UimClient, options: ToolOptions = {}): Promise<DynamicStructuredTool[]> {
  return (await toolSpecs(client, options)).map(
    (spec) =>
      new DynamicStructuredTool({
        name: spec.name,
        description: spec.description,
        schema: spec.schema,
        func: async (args: unknown, _manager: unknown, config?: { signal?: AbortSignal }) =>
          JSON.stringify(await spec.call(args, config?.signal)),
      }),
  );
}
