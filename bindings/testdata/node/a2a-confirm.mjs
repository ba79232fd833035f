// a2a-confirm.mjs URL BINDING TOKEN PERSON: makes calls that a person must confirm, with the official A2A client, and prints what it saw
// as JSON. BINDING is JSONRPC or HTTP+JSON. POST requests to PERSON have an address as their body: the person opens the address and confirms.
import { randomUUID } from 'node:crypto'
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'

const [url, binding, token, person] = process.argv.slice(2)
const fetchImpl = (to, init = {}) => fetch(to, { ...init, headers: { ...Object.fromEntries(new Headers(init.headers)), Authorization: `Bearer ${token}` } })
const factory = new ClientFactory({
  transports: binding === 'JSONRPC' ? [new JsonRpcTransportFactory({ fetchImpl })] : [new RestTransportFactory({ fetchImpl })],
  preferredTransports: [binding],
})
const client = await factory.createFromUrl(url)
const message = (parts, taskId = '') => ({
  tenant: '', configuration: undefined, metadata: undefined,
  message: { messageId: randomUUID(), contextId: 'talk', taskId, role: 1, metadata: undefined, extensions: [], referenceTaskIds: [], parts },
})
const order = (product) => message([{
  content: { $case: 'data', value: { intent_uid: 'shop.example:order:v1', parameters: { product } } },
  metadata: undefined, filename: '', mediaType: 'application/json',
}])
const text = (value, taskId) => message([{ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' }], taskId)
const taskOf = (answer) => answer.task ?? answer.payload?.value ?? answer
const address = (task) => JSON.stringify(task).match(/http:[^" ]*\/oauth\/confirm\?id=[A-Za-z0-9_-]*/)[0]
const confirm = async (task) => {
  const answer = await fetch(person, { method: 'POST', body: address(task) })
  if (!answer.ok) throw new Error(`the person: ${answer.status}`)
}
const get = (id) => client.getTask({ tenant: '', id, historyLength: 0 })

const seen = {}
// By a further message with the taskId.
const first = taskOf(await client.sendMessage(order('lamp')))
seen.asked = first
seen.still = taskOf(await client.sendMessage(text('go on', first.id)))
await confirm(first)
seen.continued = taskOf(await client.sendMessage(text('go on', first.id)))
seen.first = await get(first.id)
// By itself, for a client that reads the task.
const second = taskOf(await client.sendMessage(order('desk')))
await confirm(second)
seen.read = []
for (let n = 0; n < 200; n++) {
  const now = taskOf(await get(second.id))
  seen.read.push(now)
  if (JSON.stringify(now.status).includes('"ok"') || now.artifacts?.length) break
  await new Promise((done) => setTimeout(done, 50))
}
seen.second = seen.read.at(-1)
seen.read = seen.read.length
// By itself, in a stream.
seen.stream = []
for await (const event of client.sendMessageStream(order('chair'))) {
  seen.stream.push(event)
  if (seen.stream.length === 1) await confirm(event)
}
console.log(JSON.stringify(seen))
