// mrp.mjs URL NOW: an agent of the Machine Relay Protocol with Node.js (and ws for WebSockets). It uses every function of a
// relay, and compares the responses with the protocol. NOW is the relay's time. It prints the parts that it went through.
import assert from 'node:assert/strict'
import { createHash, createHmac, createPrivateKey, createPublicKey, randomBytes, sign, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import WebSocket from 'ws'

const [url, now] = process.argv.slice(2)
const offset = Date.parse(now) - Date.now()
let tick = 0
const instant = () => new Date(Date.now() + offset).toISOString().replace('Z', String(++tick).padStart(6, '0') + 'Z')
const text64 = (bytes) => Buffer.from(bytes).toString('base64url')

class Agent {
  constructor(seed) {
    const prefix = Buffer.from('302e020100300506032b657004220420', 'hex') // of PKCS #8. RFC 8410 7
    this.private = createPrivateKey({ key: Buffer.concat([prefix, seed]), format: 'der', type: 'pkcs8' })
    this.key = createPublicKey(this.private).export({ format: 'jwk' }).x
  }
  signature(text) { return text64(sign(null, Buffer.from(text), this.private)) }
  sign(method, path, timestamp, body) {
    return this.signature([method, path, timestamp, text64(createHash('sha256').update(body).digest())].join('\n'))
  }
  async ask(method, path, body = '', more = {}) {
    const timestamp = instant()
    const headers = {
      'X-M2M-Public-Key': this.key, 'X-M2M-Timestamp': timestamp, 'X-M2M-Signature': this.sign(method, path, timestamp, body), ...more,
    }
    const content = method === 'GET' || method === 'HEAD' ? undefined : body
    const answer = await fetch(url + path, { method, headers, body: content, redirect: 'error' })
    const raw = Buffer.from(await answer.arrayBuffer())
    const json = answer.headers.get('content-type') === 'application/json' && raw.length ? JSON.parse(raw) : undefined
    return { status: answer.status, headers: answer.headers, raw, json, sent: headers }
  }
  async wants(status, method, path, body, more) {
    const got = await this.ask(method, path, typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body, more)
    assert.equal(got.status, status, `${method} ${path}: ${got.status} ${got.raw.subarray(0, 300)}`)
    assert.match(got.headers.get('x-request-id'), /^req_/)
    return got
  }
  async refused(status, code, method, path, body, more) {
    const { json, headers } = await this.wants(status, method, path, body, more)
    assert.equal(json.error.code, code)
    assert.equal(json.error.request_id, headers.get('x-request-id'))
    return json.error
  }
  send(to, members) { return this.wants(202, 'POST', '/v1/messages', { recipient_key: to.key, ...members }).then((r) => r.json) }
  poll(query = '') { return this.wants(200, 'GET', '/v1/messages' + query).then((r) => r.json) }
  get self() { return '/v1/agents/' + this.key }
}

const seed = (from) => Buffer.from(Array.from({ length: 32 }, (_, i) => from + i))
const a = new Agent(seed(0)), b = new Agent(seed(32)), c = new Agent(randomBytes(32)), d = new Agent(randomBytes(32))
const done = []
const part = async (name, check) => { await check(); done.push(name) }

await part('vectors', () => {
  assert.equal(a.key, 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg')
  assert.equal(b.key, 'Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc')
  const at = '2026-03-05T12:00:00Z', body = `{"recipient_key":"${b.key}","body":{"text":"hi"}}`
  assert.equal(a.sign('POST', '/v1/messages', at, body),
    'bz6G7w0-u2ru4k6a6E7rBIkQ1yV3CYnA6Qxf5KQd3Wysfn0hw7UWtSqLaldXgADVM_UvzptOj2keoTIQD1YqCg')
  assert.equal(a.sign('GET', '/v1/messages?limit=10', at, ''),
    'U8ptbAUBew-xvV7DbZWrAyrkm4MZXH_1v7obgATH0xQWpFvry5jBYgnhbG2Odrhd-dd4tl0tTgtlZ_Z7POnuCA')
  assert.equal(a.signature('WS\n' + at), 'RhsQGKXIvCgnUUj81hde5H517yKVSzUK-RE6m33TXJcvuCJ33oEk1rIoCqTSMKfqAjDyd0IM3sPKioxMrQ8xDA')
})

await part('health', async () => {
  for (const path of ['/v1/health', '/v1/health/ready', '/v1/health/live', '/v1/health/details']) {
    const got = await fetch(url + path)
    assert.equal((await got.json()).status, 'ok', path)
  }
  assert.equal((await (await fetch(url + '/v1/openapi.json')).json()).openapi, '3.1.0')
})

await part('identity', async () => {
  const { json, headers } = await a.wants(200, 'GET', a.self)
  const all = [json.public_key, json.status, json.visibility, json.inbox_policy, json.metadata, json.capabilities, json.display_name ?? null]
  assert.deepEqual(all, [a.key, 'active', 'private', 'blocklist', {}, [], null])
  for (const name of ['limit', 'remaining', 'reset']) assert.match(headers.get('x-ratelimit-' + name), /^[0-9]+$/)
  await b.wants(200, 'GET', b.self)
  await a.refused(404, 'agent_not_found', 'GET', d.self)
  await a.refused(400, 'bad_request', 'GET', a.self.slice(0, -1) + 'h') // another spelling of the same key
  await a.refused(401, 'unauthorized', 'GET', a.self, '', { 'X-M2M-Public-Key': a.key.slice(0, -1) + 'h' })
  await a.refused(401, 'unauthorized', 'GET', a.self, '', { 'X-M2M-Timestamp': 'yesterday' })
  await a.refused(401, 'timestamp_expired', 'GET', a.self, '', { 'X-M2M-Timestamp': '2020-01-01T00:00:00Z' })
  await a.refused(401, 'invalid_signature', 'GET', a.self, '', { 'X-M2M-Signature': text64(randomBytes(64)) })
  const { sent } = await a.wants(200, 'GET', a.self)
  await a.refused(409, 'replay_detected', 'GET', a.self, '', sent)
  assert.equal((await fetch(url + a.self)).status, 401)
})

await part('profile', async () => {
  const change = {
    display_name: 'Übersetzer', visibility: 'public', metadata: { language: 'de' },
    capabilities: [
      { name: 'translate', description: 'Translates texts', tags: ['text:translate', 'lang.de'], input_schema: {}, version: '1' },
      'plain',
    ],
  }
  const { json } = await a.wants(200, 'PATCH', a.self, change)
  assert.equal(json.display_name, 'Übersetzer')
  assert.deepEqual(json.capabilities, [change.capabilities[0], { name: 'plain', description: '', tags: ['plain'] }])
  const listed = await b.wants(200, 'GET', a.self + '/capabilities')
  assert.deepEqual(listed.json, { public_key: a.key, capabilities: json.capabilities })
  await b.refused(403, 'forbidden', 'PATCH', a.self, { display_name: 'x' })
  await a.refused(422, 'unprocessable_entity', 'PATCH', a.self, { capabilities: Array.from({ length: 21 }, (_, i) => 'c' + i) })
  assert.equal((await a.wants(200, 'PATCH', a.self, { display_name: null })).json.display_name ?? null, null)
  await a.wants(200, 'PATCH', a.self, { display_name: 'Übersetzer' })
})

await part('discover', async () => {
  for (const [query, found] of [
    ['', 1], ['?tag=text:translate&tag=lang.de', 1], ['?tag=text:translate&tag=lang.fr', 0], ['?q=TRANSLATES+texts', 1],
    ['?name=%C3%BCBERS', 1], ['?name=%25', 0], ['?active_since=2020-01-01T00:00:00Z', 1], ['?active_since=2099-01-01T00:00:00Z', 0],
  ]) {
    const { json } = await b.wants(200, 'GET', '/v1/discover' + query)
    assert.equal(json.agents.length, found, query)
    if (found) assert.equal(json.agents[0].public_key, a.key)
    assert.equal(json.has_more, false)
  }
  await b.refused(400, 'bad_request', 'GET', '/v1/discover?limit=101')
  const { json } = await b.wants(200, 'GET', '/v1/capabilities')
  assert.deepEqual(json.capabilities, ['lang.de', 'plain', 'text:translate'].map((name) => ({ name, count: 1 })))
})

let first
await part('messages', async () => {
  first = await a.send(b, { body: { text: 'hi' }, metadata: { k: 'v' }, thread_id: 'talk', idempotency_key: 'once' })
  assert.equal(first.status, 'sent')
  assert.match(first.message_id, /^msg_[0-9]+_[0-9a-f]{12}$/)
  assert.equal(Date.parse(first.expires_at) - Date.parse(first.created_at), 604800_000)
  const again = { recipient_key: b.key, body: { text: 'hi' }, metadata: { k: 'v' }, thread_id: 'talk', idempotency_key: 'once' }
  assert.equal((await a.wants(200, 'POST', '/v1/messages', again)).json.message_id, first.message_id)
  await a.refused(409, 'bad_request', 'POST', '/v1/messages', { ...again, body: 1 })
  const { messages, has_more } = await b.poll()
  assert.deepEqual([messages.length, has_more], [1, false])
  const m = messages[0]
  assert.deepEqual([m.message_id, m.sender_key, m.recipient_key, m.content_type, m.body, m.metadata, m.thread_id, m.attachments, m.status],
    [first.message_id, a.key, b.key, 'application/json', { text: 'hi' }, { k: 'v' }, 'talk', [], 'sent'])
  assert.equal((await b.poll()).messages.length, 0)
  const { json: status } = await a.wants(200, 'GET', `/v1/messages/${m.message_id}/status`)
  assert.equal(status.status, 'delivered')
  assert.ok(Date.parse(status.delivered_at))
  await c.refused(403, 'forbidden', 'GET', `/v1/messages/${m.message_id}`)
  await c.refused(404, 'message_not_found', 'GET', '/v1/messages/msg_1_000000000000')
  const reply = await b.send(a, { content_type: 'text/plain', body: 'hello', thread_id: 'talk', in_reply_to: m.message_id })
  assert.equal((await a.poll('?in_reply_to=' + m.message_id)).messages[0].message_id, reply.message_id)
  assert.deepEqual((await b.poll('?status=delivered')).messages.map((x) => x.message_id), [m.message_id])
  const thread = (await a.wants(200, 'GET', '/v1/messages/threads/talk')).json
  assert.deepEqual(thread.messages.map((x) => x.message_id), [m.message_id, reply.message_id])
  assert.equal((await c.wants(200, 'GET', '/v1/messages/threads/talk')).json.messages.length, 0)
  const ids = []
  for (let i = 0; i < 3; i++) ids.push((await a.send(b, { body: i })).message_id)
  const page = await b.poll('?limit=2')
  const rest = await b.poll('?limit=2&cursor=' + page.next_cursor)
  assert.deepEqual([...page.messages, ...rest.messages].map((x) => x.message_id), ids)
  assert.deepEqual([page.has_more, rest.has_more, rest.next_cursor], [true, false, null])
})

await part('long poll', async () => {
  const waiting = b.poll('?wait=30')
  const { message_id } = await a.send(b, { body: 'wake' })
  assert.deepEqual((await waiting).messages.map((x) => x.message_id), [message_id])
  assert.equal((await b.poll('?wait=1')).messages.length, 0)
})

await part('refusals', async () => {
  await a.refused(400, 'bad_request', 'POST', '/v1/messages', '{')
  await a.refused(400, 'bad_request', 'POST', '/v1/messages', { recipient_key: b.key, body: 1, expires_in: 2592001 })
  await a.refused(422, 'unprocessable_entity', 'POST', '/v1/messages', { recipient_key: b.key })
  const nothing = ['blob_000000000000000000000000']
  await a.refused(422, 'unprocessable_entity', 'POST', '/v1/messages', { recipient_key: b.key, attachments: nothing })
  await a.refused(413, 'payload_too_large', 'POST', '/v1/messages', { recipient_key: b.key, body: 'x'.repeat(1 << 20) })
  assert.equal((await (await fetch(url + '/v1/nothing')).json()).error.code, 'not_found')
  const wrong = await fetch(url + '/v1/discover', { method: 'PUT' })
  assert.equal(wrong.status, 405)
  assert.equal(wrong.headers.get('allow'), 'GET')
  assert.equal((await wrong.json()).error.code, 'bad_request')
})

await part('blobs', async () => {
  const bytes = randomBytes(200_000), hash = createHash('sha256').update(bytes).digest('hex')
  const up = await a.wants(201, 'POST', '/v1/blobs', bytes, { 'Content-Type': 'image/png' })
  assert.deepEqual([up.json.hash, up.json.size, up.json.content_type], [hash, bytes.length, 'image/png'])
  assert.deepEqual([up.headers.get('x-m2m-storage-used'), up.headers.get('x-m2m-storage-limit')], ['200000', String(2 ** 30)])
  const path = '/v1/blobs/' + up.json.blob_id
  await b.refused(403, 'forbidden', 'GET', path)
  const attachment = { blob_id: up.json.blob_id, filename: 'ü.png', size: 1, hash: 'x', encrypted: true, dek_enc: 'e', dek_ct: 'c' }
  const sent = await a.send(b, { attachments: [attachment] })
  const { messages: [m] } = await b.poll()
  assert.equal(m.message_id, sent.message_id)
  assert.equal('body' in m, false)
  assert.deepEqual(m.attachments, [{ ...attachment, content_type: 'image/png', size: bytes.length, hash }])
  const head = await b.wants(200, 'HEAD', path)
  assert.deepEqual(['content-type', 'content-length', 'x-m2m-blob-hash'].map((h) => head.headers.get(h)), ['image/png', '200000', hash])
  assert.ok((await b.wants(200, 'GET', path)).raw.equals(bytes))
  const range = await b.wants(206, 'GET', path, '', { Range: 'bytes=1000-1999' })
  assert.ok(range.raw.equals(bytes.subarray(1000, 2000)))
  await b.refused(403, 'forbidden', 'DELETE', path)
  await a.refused(409, 'blob_referenced', 'DELETE', path)
  const free = (await a.wants(201, 'POST', '/v1/blobs', Buffer.alloc(0))).json
  await a.wants(204, 'DELETE', '/v1/blobs/' + free.blob_id)
  await a.refused(404, 'blob_not_found', 'GET', '/v1/blobs/' + free.blob_id)
})

await part('access', async () => {
  const from = (policy) => b.wants(200, 'PATCH', b.self, { inbox_policy: policy })
  const denied = () => a.refused(403, 'acl_denied', 'POST', '/v1/messages', { recipient_key: b.key, body: 1 })
  const list = b.self + '/acl'
  const entry = (await b.wants(200, 'PUT', list, { peer_key: a.key, entry_type: 'block' })).json
  assert.deepEqual([entry.owner_key, entry.peer_key, entry.entry_type], [b.key, a.key, 'block'])
  await denied()
  await from('allowlist')
  await denied()
  await b.wants(200, 'PUT', `${list}/${a.key}`, { entry_type: 'allow' })
  await a.send(b, { body: 'allowed' })
  await from('closed')
  await denied()
  assert.deepEqual((await b.wants(200, 'GET', list + '?type=allow')).json.entries.map((e) => e.peer_key), [a.key])
  assert.equal((await b.wants(200, 'GET', list + '?type=block')).json.entries.length, 0)
  assert.equal((await b.wants(200, 'GET', `${list}/${a.key}`)).json.entry_type, 'allow')
  await b.wants(204, 'DELETE', `${list}/${a.key}`)
  await b.refused(404, 'not_found', 'GET', `${list}/${a.key}`)
  await a.refused(403, 'forbidden', 'GET', list)
  await from('open')
  await b.poll()
})

await part('encrypted', async () => {
  const body = '{ "v": 2, "enc": "jlrGkpdyC6SjPU7Vwmpw6osN2ww4Ifni4kpbNimban8", ' +
    '"ct": "6Kw8F7ZCSY3NQIZGZ1JmrQLgO3SlYw1IZ6pAZIgrnjwD", "ct_content_type": "application/json" }'
  await a.wants(202, 'POST', '/v1/messages', `{"recipient_key":"${b.key}","content_type":"application/x-m2m-encrypted","body":${body}}`)
  const { raw } = await b.wants(200, 'GET', '/v1/messages')
  assert.ok(raw.includes(`"body":${body}`), 'a body is not what was sent, byte for byte')
  assert.equal(JSON.parse(raw).messages[0].content_type, 'application/x-m2m-encrypted')
})

await part('webhooks', async () => {
  const secret = randomBytes(32), postings = []
  let came
  const arrival = new Promise((resolve) => { came = resolve })
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    postings.push({ headers: request.headers, body: Buffer.concat(chunks) })
    response.writeHead(200).end()
    came()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const hook = { url: `http://127.0.0.1:${server.address().port}/in`, secret: text64(secret) }
  const set = (await d.wants(200, 'PUT', d.self + '/webhook', hook)).json
  assert.deepEqual([set.url, set.enabled, set.consecutive_failures, 'secret' in set], [hook.url, true, 0, false])
  await d.refused(400, 'bad_request', 'PUT', d.self + '/webhook', { ...hook, secret: text64(randomBytes(31)) })
  const { message_id } = await a.send(d, { body: { pushed: true } })
  await arrival
  const [{ headers, body }] = postings
  const want = createHmac('sha256', secret).update(body).digest()
  assert.ok(timingSafeEqual(Buffer.from(headers['x-m2m-webhook-signature'], 'hex'), want))
  const posted = JSON.parse(body)
  assert.match(posted.delivery_id, /^dlv_[0-9a-f]{12}$/)
  assert.deepEqual([headers['x-m2m-delivery-id'], headers['content-type'], posted.message.message_id, posted.message.body],
    [posted.delivery_id, 'application/json', message_id, { pushed: true }])
  assert.ok(Date.parse(headers['x-m2m-webhook-timestamp']))
  await a.refused(403, 'forbidden', 'GET', d.self + '/webhook')
  await d.wants(204, 'DELETE', d.self + '/webhook')
  await d.refused(404, 'not_found', 'GET', d.self + '/webhook')
  server.closeAllConnections()
  server.close()
})

// A line is a WebSocket whose frames are read one by one.
class Line {
  constructor() {
    this.frames = []
    this.socket = new WebSocket(url.replace('http', 'ws') + '/v1/ws')
    this.opened = new Promise((resolve, reject) => this.socket.on('open', resolve).on('error', reject))
    this.closed = new Promise((resolve) => this.socket.on('close', (code) => { this.next?.(null); resolve(code) }))
    this.socket.on('message', (data, binary) => {
      assert.equal(binary, false)
      this.frames.push(JSON.parse(data))
      this.next?.()
    })
  }
  async hear() {
    while (!this.frames.length) await new Promise((resolve) => { this.next = resolve })
    return this.frames.shift()
  }
  say(frame) { this.socket.send(JSON.stringify(frame)) }
  static async of(agent) {
    const line = new Line()
    await line.opened
    const timestamp = instant()
    line.say({ type: 'auth', public_key: agent.key, timestamp, signature: agent.signature('WS\n' + timestamp) })
    return line
  }
}

await part('sockets', async () => {
  const queued = await a.send(b, { body: 'queued' })
  const line = await Line.of(b)
  assert.deepEqual(await line.hear(), { type: 'auth_result', status: 'ok', public_key: b.key })
  const pushed = await line.hear()
  assert.deepEqual([pushed.type, pushed.message.message_id, pushed.message.body], ['message', queued.message_id, 'queued'])
  line.say({ type: 'ack', message_id: queued.message_id })
  line.say({ type: 'send', id: '7', message: { recipient_key: a.key, body: 'from a socket' } })
  const result = await line.hear()
  assert.deepEqual([result.type, result.id, result.status], ['send_result', '7', 'ok'])
  assert.equal((await a.poll()).messages.at(-1).message_id, result.message_id)
  line.say({ type: 'send', id: '8', message: { recipient_key: 'nobody', body: 1 } })
  const wrong = await line.hear()
  assert.deepEqual([wrong.type, wrong.id, wrong.status, wrong.error.code], ['send_result', '8', 'error', 'bad_request'])
  line.say({ type: 'unheard-of' })
  assert.equal((await line.hear()).type, 'error')
  line.say({ type: 'ping' })
  assert.equal((await line.hear()).type, 'pong')
  const live = await a.send(b, { body: 'live' })
  assert.equal((await line.hear()).message.message_id, live.message_id)
  line.socket.terminate() // before the acknowledgement: it comes again
  await line.closed
  const back = await Line.of(b)
  assert.equal((await back.hear()).status, 'ok')
  assert.equal((await back.hear()).message.message_id, live.message_id)
  back.say({ type: 'ack', message_id: live.message_id })
  back.say({ type: 'ping' })
  assert.equal((await back.hear()).type, 'pong')
  back.socket.close(1000)
  await back.closed
  assert.equal((await b.poll()).messages.length, 0)
  const stranger = new Line()
  await stranger.opened
  stranger.say({ type: 'auth', public_key: a.key, timestamp: instant(), signature: text64(randomBytes(64)) })
  const refused = await stranger.hear()
  assert.deepEqual([refused.type, refused.status, refused.error.code], ['auth_result', 'error', 'invalid_signature'])
  assert.equal(await stranger.closed, 1008)
})

await part('rates', async () => {
  const fresh = new Agent(randomBytes(32))
  let got, sent = 0
  for (;; sent++) { // 30 in a minute, of which an old part may have passed meanwhile
    got = await fresh.ask('POST', '/v1/messages', JSON.stringify({ recipient_key: c.key, body: sent }))
    assert.equal(got.headers.get('x-ratelimit-limit'), '30')
    const left = Number(got.headers.get('x-ratelimit-remaining'))
    assert.ok(left >= Math.max(0, 29 - sent) && left < 30, `${left} are left after ${sent + 1}`)
    if (got.status !== 202) break
  }
  assert.ok(got.status === 429 && sent >= 30 && sent < 40, `${got.status} after ${sent}`)
  assert.deepEqual([got.json.error.code, got.json.error.details.limit, got.json.error.details.window], ['rate_limit_exceeded', 30, '1m'])
  assert.equal(got.headers.get('retry-after'), String(got.json.error.details.retry_after))
  assert.ok(Number(got.headers.get('retry-after')) > 0 && Number(got.headers.get('x-ratelimit-reset')) > 0)
  await fresh.wants(200, 'GET', fresh.self)
})

await part('the end', async () => {
  await a.refused(403, 'forbidden', 'DELETE', b.self)
  await a.wants(204, 'DELETE', a.self)
  await b.refused(404, 'agent_not_found', 'GET', a.self)
})

console.log(JSON.stringify(done))
process.exit(0)
