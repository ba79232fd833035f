// bridge.mjs ERA MODE CODE COMMAND...: calls a tool of the bridge that COMMAND starts, with the official client of the era, and prints what it
// saw as JSON. ERA is 2025 (the SDK's first generation) or 2026 (the second). MODE is url (the client opens addresses for the owner, who
// confirms with CODE), lie (it opens nothing, and reports that it did) or text (it opens none).
const [era, mode, code, command, ...args] = process.argv.slice(2)
const about = { name: 'uimgate-test', version: '1.0.0' }
const sdk = era === '2025'
  ? {
      ...await import('@modelcontextprotocol/sdk/client/index.js'), ...await import('@modelcontextprotocol/sdk/client/stdio.js'),
      ...await import('@modelcontextprotocol/sdk/types.js'),
    }
  : { ...await import('@modelcontextprotocol/client'), ...await import('@modelcontextprotocol/client/stdio') }

const patience = new AbortController() // it aborts half a second after the false report
const seen = { asked: [], completed: [] }
const press = async (address, decision) => {
  const page = await (await fetch(address)).text()
  const body = new URLSearchParams({ decision, code })
  const answer = await fetch(address, { method: 'POST', body, headers: { Origin: new URL(address).origin } })
  return { page, status: answer.status }
}
const client = new sdk.Client(about, {
  capabilities: mode === 'text' ? {} : { elicitation: { url: {} } }, ...(era === '2025' ? {} : { versionNegotiation: { mode: 'auto' } }),
})
if (mode !== 'text') {
  const handle = async (request) => {
    seen.asked.push(request.params)
    if (mode === 'lie') setTimeout(() => patience.abort(), 500)
    if (mode === 'url') seen.pressed = await press(request.params.url, 'confirm')
    return { action: 'accept' }
  }
  if (era === '2025') {
    client.setRequestHandler(sdk.ElicitRequestSchema, handle)
    client.setNotificationHandler(sdk.ElicitationCompleteNotificationSchema, (n) => { seen.completed.push(n.params.elicitationId) })
  } else client.setRequestHandler('elicitation/create', handle)
}
const order = async (options) => {
  try {
    return await client.callTool({ name: 'place-order_v1', arguments: { product_id: 'desk-lamp' } }, ...(era === '2025' ? [undefined] : []), options)
  } catch (e) { return { error: e.message } }
}
await client.connect(new sdk.StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }))
seen.version = client.getNegotiatedProtocolVersion?.()
seen.first = await order(mode === 'lie' ? { signal: patience.signal } : undefined)
if (mode === 'text') {
  const { error } = JSON.parse(seen.first.content[1].text)
  seen.pressed = await press(error.details.confirm_url, 'confirm')
  seen.second = await order()
}
await client.close()
console.log(JSON.stringify(seen))
