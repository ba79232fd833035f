// a2a.mjs URL BINDING TOKEN: follows the path of an agent with the official A2A client, from the card to the task, and prints what it
// saw as JSON. BINDING is JSONRPC or HTTP+JSON.
import { randomUUID } from 'node:crypto'
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'

const [url, binding, token] = process.argv.slice(2)
const fetchImpl = (to, init = {}) => fetch(to, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), Authorization: `Bearer ${token}` } })
const factory = new ClientFactory({
  transports: binding === 'JSONRPC' ? [new JsonRpcTransportFactory({ fetchImpl })] : [new RestTransportFactory({ fetchImpl })],
  preferredTransports: [binding],
})
const client = await factory.createFromUrl(url)
const asking = (intent_uid, parameters) => ({
  tenant: '', configuration: undefined, metadata: undefined,
  message: {
    messageId: randomUUID(), contextId: 'talk', taskId: '', role: 1, metadata: undefined, extensions: [], referenceTaskIds: [],
    parts: [{ content: { $case: 'data', value: { intent_uid, parameters } }, metadata: undefined, filename: '', mediaType: 'application/json' }],
  },
})
const failed = async (promise) => {
  try { return { result: await promise } } catch (e) { return { name: e.name, message: e.message, told: e.metadata ?? e.data } }
}
const seen = { card: await client.getAgentCard() }
seen.paid = await client.sendMessage(asking('shop.example:order:v1', { product: 'lamp' }))
const id = seen.paid.id ?? seen.paid.payload?.value?.id ?? seen.paid.task?.id
seen.task = await client.getTask({ tenant: '', id, historyLength: 0 })
seen.stream = []
for await (const event of client.sendMessageStream(asking('shop.example:search:v1', { query: 'lämp' }))) seen.stream.push(event)
seen.wrong = await failed(client.sendMessage(asking('shop.example:search:v1', { q: 1 })))
seen.none = await failed(client.getTask({ tenant: '', id: 'none', historyLength: 0 }))
console.log(JSON.stringify(seen))
