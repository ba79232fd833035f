// Clients and frameworks of other projects, unchanged except for their fetch, and the adapters of this package.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { memoryBudget, wrapFetch } from "uimgate";
import { agreed, ORDER, recorder, SEARCH, upstreamCalls } from "./support.mjs";

const about = { name: "uimgate-test", version: "1.0.0" };

/** A client with a budget for two orders, and its fetch for others. */
async function wrapped() {
  const seen = recorder();
  const client = await agreed({ fetch: seen.fetch, budget: memoryBudget("0.50 EUR/day") });
  return { client, seen, fetch: wrapFetch(seen.fetch, client), mcp: new URL(client.endpoints.mcp) };
}

/** Checks what a framework has done: a list of both tools, a free call, and orders up to the budget. */
async function walk(list, call, seen) {
  assert.deepEqual((await list()).sort(), ["order_v1", "search_v1"]);
  assert.match(JSON.stringify(await call("search_v1", { query: "lämp" })), /lämp/);
  const before = await upstreamCalls();
  for (const product of ["lamp", "desk"]) assert.match(JSON.stringify(await call("order_v1", { product })), new RegExp(product));
  let refused;
  try {
    refused = JSON.stringify(await call("order_v1", { product: "chair" }));
  } catch (error) {
    refused = `${error.message} ${error.cause?.message}`;
  }
  assert.match(refused, /0\.50 EUR of the budget of 0\.50 EUR\/day is spent/);
  assert.equal(await upstreamCalls(), before + 2);
  for (const { headers } of seen.requests.filter((r) => /order_v1/.test(String(r.body)))) {
    assert.ok(headers.get("uim-proof") && headers.get("idempotency-key") && headers.get("authorization"));
  }
}

test("@modelcontextprotocol/client", async () => {
  const { fetch, mcp, seen } = await wrapped();
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const it = new Client(about, { versionNegotiation: { mode: "auto" } });
  await it.connect(new StreamableHTTPClientTransport(mcp, { fetch }));
  await walk(
    async () => (await it.listTools()).tools.map((t) => t.name),
    (name, args) => it.callTool({ name, arguments: args }),
    seen,
  );
  await it.close();
});

test("@modelcontextprotocol/sdk, and @langchain/mcp-adapters on it", async () => {
  for (const langchain of [false, true]) {
    const { fetch, mcp, seen } = await wrapped();
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const it = new Client(about);
    await it.connect(new StreamableHTTPClientTransport(mcp, { fetch }));
    if (langchain) {
      const { loadMcpTools } = await import("@langchain/mcp-adapters");
      const tools = await loadMcpTools("shop", it);
      await walk(
        async () => tools.map((t) => t.name),
        (name, args) => tools.find((t) => t.name === name).invoke(args),
        seen,
      );
    } else {
      await walk(
        async () => (await it.listTools()).tools.map((t) => t.name),
        (name, args) => it.callTool({ name, arguments: args }),
        seen,
      );
    }
    await it.close();
  }
});

test("@ai-sdk/mcp", async () => {
  const { fetch, mcp, seen } = await wrapped();
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const it = await createMCPClient({ transport: { type: "http", url: mcp.href, fetch } });
  const tools = await it.tools();
  await walk(
    async () => Object.keys(tools),
    (name, args) => tools[name].execute(args, { messages: [], toolCallId: "1" }),
    seen,
  );
  await it.close();
});

test("@openai/agents", async () => {
  const { fetch, mcp, seen } = await wrapped();
  const { MCPServerStreamableHttp } = await import("@openai/agents");
  const it = new MCPServerStreamableHttp({ url: mcp.href, name: "shop", fetch });
  await it.connect();
  await walk(
    async () => (await it.listTools()).map((t) => t.name),
    (name, args) => it.callTool(name, args),
    seen,
  );
  await it.close();
});

test("@mastra/mcp", async () => {
  const { fetch, mcp, seen } = await wrapped();
  const { MCPClient } = await import("@mastra/mcp");
  const it = new MCPClient({ id: randomUUID(), servers: { shop: { url: mcp, fetch: (to, init) => fetch(to, init) } } });
  const tools = await it.listTools();
  await walk(
    async () => Object.keys(tools).map((n) => n.replace("shop_", "")),
    (name, args) => tools[`shop_${name}`].execute(args, {}),
    seen,
  );
  await it.disconnect();
});

for (const binding of ["JSONRPC", "HTTP+JSON"]) {
  test(`@a2a-js/sdk, ${binding}`, async () => {
    const { client, fetch, seen } = await wrapped();
    const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } = await import("@a2a-js/sdk/client");
    const Transport = binding === "JSONRPC" ? JsonRpcTransportFactory : RestTransportFactory;
    const factory = new ClientFactory({ transports: [new Transport({ fetchImpl: fetch })], preferredTransports: [binding] });
    const it = await factory.createFromUrl(new URL(client.endpoints.a2a).origin);
    const ask = (intent_uid, parameters) => ({
      tenant: "",
      configuration: undefined,
      metadata: undefined,
      message: {
        messageId: randomUUID(),
        contextId: "talk",
        taskId: "",
        role: 1,
        metadata: undefined,
        extensions: [],
        referenceTaskIds: [],
        parts: [
          {
            content: { $case: "data", value: { intent_uid, parameters } },
            metadata: undefined,
            filename: "",
            mediaType: "application/json",
          },
        ],
      },
    });
    const uids = { order_v1: ORDER, search_v1: SEARCH };
    const called = [];
    await walk(
      async () => (await it.getAgentCard()).skills.map((s) => `${s.id.split(":")[1]}_${s.id.split(":")[2]}`),
      async (name, args) => {
        called.push(name);
        if (called.length !== 2) return it.sendMessage(ask(uids[name], args));
        const events = []; // one of the orders as a stream
        for await (const event of it.sendMessageStream(ask(uids[name], args))) events.push(event);
        return events;
      },
      { requests: [] },
    );
    const orders = seen.requests.filter((r) => String(r.body).includes(ORDER));
    assert.equal(orders.length, 2);
    for (const { headers } of orders) assert.ok(headers.get("uim-proof") && headers.get("authorization"));
  });
}

const adapted = async () => agreed({ budget: memoryBudget("0.50 EUR/day") });
const none = { requests: [] };

test("the adapter for LangChain", async () => {
  const { tools } = await import("uimgate/langchain");
  const list = await tools(await adapted());
  assert.match(list.find((t) => t.name === "order_v1").description, /Costs up to 0\.25 EUR a call/);
  await walk(
    async () => list.map((t) => t.name),
    (name, args) => list.find((t) => t.name === name).invoke(args),
    none,
  );
});

test("the adapter for the Vercel AI SDK", async () => {
  const { tools } = await import("uimgate/ai");
  const all = await tools(await adapted());
  await walk(
    async () => Object.keys(all),
    (name, args) => all[name].execute(args, { messages: [], toolCallId: "1" }),
    none,
  );
});

test("the adapter for the OpenAI Agents SDK", async () => {
  const { tools } = await import("uimgate/openai");
  const { RunContext } = await import("@openai/agents");
  const list = await tools(await adapted());
  await walk(
    async () => list.map((t) => t.name),
    (name, args) => list.find((t) => t.name === name).invoke(new RunContext({}), JSON.stringify(args)),
    none,
  );
});

test("the adapter for Mastra", async () => {
  const { tools } = await import("uimgate/mastra");
  const all = await tools(await adapted());
  await walk(
    async () => Object.keys(all),
    (name, args) => all[name].execute(args, {}),
    none,
  );
});

test("adapters offer what is chosen, and return what a model can act on", async () => {
  const { tools } = await import("uimgate/langchain");
  const client = await adapted();
  assert.deepEqual(
    (await tools(client, { only: [SEARCH] })).map((t) => t.name),
    ["search_v1"],
  );
  assert.deepEqual(
    (await tools(client, { only: (intent) => !intent.safe })).map((t) => t.name),
    ["order_v1"],
  );
  const asked = [];
  const [order] = await tools(client, { only: [ORDER], approve: (call, price) => (asked.push([call.parameters, price.most]), false) });
  assert.match(await order.invoke({ product: "lamp" }), /was declined/);
  assert.deepEqual(JSON.parse(JSON.stringify(asked)), [[{ product: "lamp" }, { amount: "0.25", currency: "EUR" }]]);
});
