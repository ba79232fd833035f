import type { Budget } from "./budget.js";
import type { Intent } from "./catalog.js";
import type { UimClient } from "./client.js";
import { ApprovalError, BudgetError, LostError, PolicyChangedError, RefusalError } from "./errors.js";
import { isObject, type Json, type JsonObject } from "./json.js";
import { showAmount } from "./money.js";
import type { Approve } from "./options.js";
import { toolNames } from "./toolnames.js";

/** Selects the intents that become tools, and limits the cost of their calls. */
export interface ToolOptions {
  /** UIDs, or a function that chooses. The default is all intents that have not ended and are in the scope of the agreement. */
  only?: readonly string[] | ((intent: Intent) => boolean);
  /** The budget of these tools, in place of the client's. */
  budget?: Budget;
  /** Accepts or rejects each call that costs something, in place of the callback of the client. */
  approve?: Approve;
}

/** An intent as a tool of a model. */
export interface ToolSpec {
  /** At most 48 of A-Z a-z 0-9 _ -, as at the MCP endpoint of the service. */
  readonly name: string;
  readonly intent: Intent;
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly schema: JsonObject;
  /**
   * Makes the call. It returns errors that a model or its user can act on (a refusal, a budget, an unknown outcome) as {error}, and throws
   * others.
   */
  call(args: unknown, signal?: AbortSignal): Promise<Json>;
}

/** Returns the intents of a service as tools, for frameworks without an adapter in this package. */
export async function toolSpecs(client: UimClient, options: ToolOptions = {}): Promise<ToolSpec[]> {
  const { only } = options;
  const scope = new Set(client.agreement?.scope.map((entry) => entry.replace(/:execute$/, "")));
  const permitted = (intent: Intent): boolean => scope.size === 0 || scope.has(intent.uid) || scope.has(intent.uid.split(":")[0] ?? "");
  const offered = client.intents.filter((intent) => !intent.retired);
  const names = new Map([...(await toolNames(offered.map((intent) => intent.uid)))].map(([name, uid]) => [uid, name]));
  const chosen = offered.filter((intent) => {
    if (typeof only === "function") return only(intent);
    return only ? only.includes(intent.uid) : permitted(intent);
  });
  return Promise.all(
    chosen.map(async (intent) => {
      const price = await client.price(intent.uid);
      const costs = price.kind === "paid" ? ` Costs up to ${showAmount(price.most)} a call.` : "";
      return {
        name: names.get(intent.uid) ?? intent.uid,
        intent,
        description: `${intent.description || intent.name}${costs}`,
        schema: intent.inputSchema,
        call: (args: unknown, signal?: AbortSignal) => call(client, intent, args, options, signal),
      };
    }),
  );
}

async function call(
  client: UimClient,
  intent: Intent,
  args: unknown,
  { budget, approve }: ToolOptions,
  signal?: AbortSignal,
): Promise<Json> {
  try {
    const parameters = isObject(args) ? args : {};
    const result = await client.execute(intent.uid, parameters, {
      ...(budget ? { budget } : {}),
      ...(approve ? { approve } : {}),
      ...(signal ? { signal } : {}),
    });
    return result.output;
  } catch (error) {
    if (error instanceof RefusalError) {
      const { message, suggestion, violations } = error;
      return { error: { message, suggestion, violations: violations.map(({ pointer, message: what }) => ({ pointer, message: what })) } };
    }
    if (error instanceof LostError) return { error: { message: `Outcome unknown, do not repeat: ${error.message}` } };
    if (error instanceof BudgetError || error instanceof ApprovalError || error instanceof PolicyChangedError) {
      return { error: { message: error.message } };
    }
    throw error;
  }
}
