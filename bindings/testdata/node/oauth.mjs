// oauth.mjs (URL ERA DOCUMENT)...: goes from the 401 to a tool call at each URL with the official client of the era, as a person with a
// browser without JavaScript would let it, and prints what each client saw as a JSON array. ERA is 2025 (the SDK's first generation) or 2026
// (the second). DOCUMENT is the URL of the client's metadata document; if it is empty, the client registers. The test's own server, at /test/
// of the same origin, lets a token expire and changes the policy.
import { agree } from './browser.mjs'
import { Provider } from './provider.mjs'

const clients = process.argv.slice(2)
const about = { name: 'uimgate-test', version: '1.0.0' }
const sdks = {
  2025: {
    ...await import('@modelcontextprotocol/sdk/client/index.js'), ...await import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ...await import('@modelcontextprotocol/sdk/client/auth.js'),
  },
  2026: await import('@modelcontextprotocol/client'),
}

async function run(url, era, document) {
  const sdk = sdks[era]
  const provider = new Provider('http://localhost:49152/callback', document)

  // connect connects and makes a call, and asks the person where that is what the client wants.
  async function connect() {
    const make = () => [
      new sdk.Client(about, era === '2025' ? {} : { versionNegotiation: { mode: 'auto' } }),
      new sdk.StreamableHTTPClientTransport(new URL(url), { authProvider: provider }),
    ]
    const [client, transport] = make()
    try {
      await client.connect(transport)
      await search(client) // the list of tools is public, but a call needs a token
      return client
    } catch (e) {
      if (!(e instanceof sdk.UnauthorizedError)) throw e
    }
    const back = (await agree(provider.asked.at(-1))).searchParams
    if (back.get('state') !== provider.kept.state) throw new Error(`the state is ${back.get('state')}`)
    await (era === '2025' ? transport.finishAuth(back.get('code')) : transport.finishAuth(back))
    const [again, over] = make()
    await again.connect(over)
    return again
  }

  const search = (client) => client.callTool({ name: 'search_v1', arguments: { query: 'lamp' } })
  const failure = async (promise) => {
    try { await promise; return 'none' } catch (e) { return e instanceof sdk.UnauthorizedError ? 'unauthorized' : `${e.name}: ${e.message}` }
  }
  const happen = async (what) => {
    const answer = await fetch(new URL(`/test/${what}`, url), { method: 'POST' })
    if (!answer.ok) throw new Error(`${what}: ${answer.status}`)
  }

  const seen = {}
  let client = await connect()
  seen.clientID = provider.kept.client.client_id
  seen.scope = provider.kept.tokens.scope
  seen.asked = provider.asked.length
  seen.tools = (await client.listTools()).tools.map((t) => t.name).sort()
  seen.done = await search(client)

  const before = provider.kept.tokens
  await happen('expire')
  seen.refreshed = await search(client)
  seen.rotated = provider.kept.tokens.access_token !== before.access_token && provider.kept.tokens.refresh_token !== before.refresh_token
  seen.askedAfterRefresh = provider.asked.length

  await happen('policy')
  seen.changed = await failure(search(client))
  seen.askedAfterChange = provider.asked.length
  await client.close()
  client = await connect()
  seen.again = await search(client)

  // What charges is out of reach of a consent: the model is told, the person is not asked again, and the client goes on with what
  // it has.
  const asked = provider.asked.length
  seen.charging = await client.callTool({ name: 'order_v1', arguments: { product: 'lamp' } })
  seen.askedAfterCharging = provider.asked.length - asked
  seen.after = await search(client)
  await client.close()
  return seen
}

const running = []
for (let n = 0; n < clients.length; n += 3) running.push(run(...clients.slice(n, n + 3)))
console.log(JSON.stringify(await Promise.all(running)))
