// A server of the Model Context Protocol (2025-11-25) on standard input and output, with two tools and no dependencies. It contains
// nothing about agents, terms or prices: the gateway in front of it handles these.
import { createInterface } from "node:readline";

const number = (description, more = {}) => ({ type: "number", description, ...more });
const tools = {
  convert: {
    description: "Converts a temperature from degrees Celsius to degrees Fahrenheit.",
    annotations: { readOnlyHint: true },
    inputSchema: { type: "object", properties: { celsius: number("Degrees Celsius.") }, required: ["celsius"] },
    outputSchema: { type: "object", properties: { fahrenheit: number("Degrees Fahrenheit.") }, required: ["fahrenheit"] },
    call: ({ celsius }) => ({ fahrenheit: (celsius * 9) / 5 + 32 }),
  },
  table: {
    description: "Converts a range of temperatures, and reports its progress.",
    inputSchema: {
      type: "object",
      properties: { from: number("First value in degrees Celsius."), rows: number("Number of rows.", { minimum: 1, maximum: 100 }) },
      required: ["from", "rows"],
    },
    outputSchema: { type: "object", properties: { table: { type: "array", items: { type: "array" } } }, required: ["table"] },
    call: ({ from, rows }, progress) => {
      const table = [];
      for (let n = 1; n <= rows; n++) {
        table.push([from + n - 1, ((from + n - 1) * 9) / 5 + 32]);
        progress(n, rows, `Row ${n} of ${rows}`);
      }
      return { table };
    },
  },
};

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

const methods = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "temperatures", version: "1.0.0" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools: Object.entries(tools).map(([name, { call, ...described }]) => ({ name, ...described })) }),
  "tools/call": ({ name, arguments: given = {}, _meta: { progressToken } = {} }) => {
    if (!Object.hasOwn(tools, name)) throw Object.assign(new Error(`unknown tool: ${name}`), { code: -32602 });
    const structuredContent = tools[name].call(given, (progress, total, message) => {
      if (progressToken === undefined) return; // the client did not ask
      send({ method: "notifications/progress", params: { progressToken, progress, total, message } });
    });
    return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue; // a notification
  try {
    if (!Object.hasOwn(methods, method)) throw Object.assign(new Error(`unknown method: ${method}`), { code: -32601 });
    send({ id, result: methods[method](params ?? {}) });
  } catch (error) {
    send({ id, error: { code: error.code ?? -32603, message: error.message } });
  }
}
