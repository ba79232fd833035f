// mcp.mjs URL ERA TOKEN: lists the tools and calls some, with the official client of the era, and prints what it saw as JSON. ERA is
// 2025 (the SDK's first generation), or 2026 (the second, which has to find out by itself that the server speaks 2026-07-28).
const [url, era, token] = process.argv.slice(2)
const requestInit = { headers: { Authorization: `Bearer ${token}` } }
const about = { name: 'uimgate-test', version: '1.0.0' }

let client, transport
if (era === '2025') {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js')
  client = new Client(about)
  transport = new StreamableHTTPClientTransport(new URL(url), { requestInit })
} else {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  client = new Client(about, { versionNegotiation: { mode: 'auto' } })
  transport = new StreamableHTTPClientTransport(new URL(url), { requestInit })
}

const failed = async (promise) => {
  try { return { result: await promise } } catch (e) { return { code: e.code, message: e.message } }
}
await client.connect(transport)
const { tools } = await client.listTools()
const seen = {
  version: transport.protocolVersion ?? client.getNegotiatedProtocolVersion?.(),
  tools: tools.map((t) => t.name).sort(),
  done: await client.callTool({ name: 'search_v1', arguments: { query: 'lämp' } }),
  paid: await client.callTool({ name: 'order_v1', arguments: { product: 'lamp' }, _meta: { 'Idempotency-Key': `key-${era}` } }),
  wrong: await failed(client.callTool({ name: 'search_v1', arguments: { query: 1 } })),
  unknown: await failed(client.callTool({ name: 'serch_v1', arguments: { query: 'lamp' } })),
}
if (era === '2025') seen.ping = await client.ping()
await client.close()
console.log(JSON.stringify(seen))
