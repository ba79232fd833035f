// consent.mjs CHROMIUM PICTURES (URL ERA MODE)...: buys at each URL with the official client of the era, as a client without a key whose person
// uses Chromium without JavaScript, and prints what each purchase saw as a JSON array. ERA is 2025 (the SDK's first generation) or 2026 (the
// second). MODE is url (the client asks the person to open addresses) or text. A POST of the token to /test/pay pays in for the client. It
// measures each page on a narrow screen, by turns in the light and the dark scheme. Unless the directory PICTURES is empty, it measures each
// page in both schemes and on a wide screen too, and writes pictures there.
import { createServer } from 'node:http'
import { join } from 'node:path'
import { start } from './chromium.mjs'
import { Provider } from './provider.mjs'

const [command, pictures, ...purchases] = process.argv.slice(2)
const about = { name: 'uimgate-test', version: '1.0.0' }
const sdks = {
  2025: {
    ...await import('@modelcontextprotocol/sdk/client/index.js'), ...await import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
    ...await import('@modelcontextprotocol/sdk/client/auth.js'), ...await import('@modelcontextprotocol/sdk/types.js'),
  },
  2026: await import('@modelcontextprotocol/client'),
}

async function buy(browser, schemes, url, era, mode) {
  const sdk = sdks[era]
  // The client receives the code on a port of this machine.
  let back
  const callback = createServer((request, response) => {
    const to = new URL(request.url, 'http://localhost')
    if (to.pathname === '/callback') back = to.searchParams
    response.end('Done.')
  })
  await new Promise((resolve) => callback.listen(0, '127.0.0.1', resolve))

  // The client stays registered, because the person paid in for it.
  const provider = new class extends Provider {
    invalidateCredentials(what) { if (what === 'all' || what === 'tokens') delete this.kept.tokens }
  }(`http://127.0.0.1:${callback.address().port}/callback`)

  await browser.forget()
  const seen = { widths: {}, order: {}, completed: [] }
  const look = async (name) => {
    for (const width of pictures ? [390, 1280] : [390]) {
      for (const dark of schemes) {
        const path = pictures && join(pictures, `${name}-${width}${dark ? '-dark' : ''}.png`)
        seen.widths[`${name} ${width}`] = await browser.shoot(path, width, dark)
      }
    }
  }
  // confirm opens the page of a call as the person, and confirms.
  const confirm = async (address) => {
    await browser.open(address)
    await look('confirm')
    seen.order.confirm = await browser.press('confirm')
    seen.confirmed = await browser.text()
    await look('confirmed')
  }

  const capabilities = mode === 'url' ? { elicitation: { url: {} } } : {}
  const make = () => {
    const client = new sdk.Client(about, { capabilities, ...(era === '2025' ? {} : { versionNegotiation: { mode: 'auto' } }) })
    if (mode === 'url') {
      const handle = async (request) => {
        seen.elicited = request.params
        await confirm(request.params.url)
        return { action: 'accept' }
      }
      if (era === '2025') {
        client.setNotificationHandler(sdk.ElicitationCompleteNotificationSchema, (n) => { seen.completed.push(n.params.elicitationId) })
      } else client.setRequestHandler('elicitation/create', handle)
    }
    return [client, new sdk.StreamableHTTPClientTransport(new URL(url), { authProvider: provider })]
  }
  const order = async (client) => {
    try { return await client.callTool({ name: 'order_v1', arguments: { product: 'lamp' } }) } catch (e) {
      if (e instanceof sdk.UnauthorizedError) return { error: 'unauthorized' }
      return { error: e.message, code: e.code, elicitations: e.data?.elicitations }
    }
  }

  try {
    // Consent, with a budget for orders.
    const [first, transport] = make()
    try {
      await first.connect(transport)
      await first.callTool({ name: 'order_v1', arguments: { product: 'lamp' } })
    } catch (e) {
      if (!(e instanceof sdk.UnauthorizedError)) throw e
    }
    await browser.open(provider.asked.at(-1).href)
    await look('consent')
    await browser.fill('input[name=spend]', true)
    await browser.fill('input[name=pay]', true)
    await browser.fill('input[name=budget]', '0.25')
    await browser.fill('input[name=per_call]', '0.25')
    seen.order.consent = await browser.press('agree')
    await (era === '2025' ? transport.finishAuth(back.get('code')) : transport.finishAuth(back))
    const [client, over] = make()
    await client.connect(over)
    const paid = await fetch(new URL('/test/pay', url), { method: 'POST', body: provider.kept.tokens.access_token })
    if (!paid.ok) throw new Error(`paying in: ${paid.status}`)

    // Within the budget, and above it.
    seen.within = await order(client)
    seen.above = await order(client)

    // The person raises the budget, and wants to confirm each order.
    await browser.open(new URL('/oauth/consents', url).href)
    await look('consents')
    await browser.fill('input[name=budget]', '0.50')
    await browser.fill('input[name=per_call]', '0.10')
    seen.order.consents = await browser.press('change')
    seen.asked = await order(client)
    const address = seen.asked.elicitations?.[0].url ?? JSON.stringify(seen.asked).match(/http:[^" ]*\/oauth\/confirm\?id=[A-Za-z0-9_-]*/)?.[0]
    if (!seen.elicited) {
      seen.elicited = seen.asked.elicitations?.[0]
      await confirm(address)
      for (let n = 0; mode === 'url' && n < 600 && !seen.completed.length; n++) await new Promise((done) => setTimeout(done, 50))
      seen.confirmedCall = await order(client)
    } else seen.confirmedCall = seen.asked
    seen.over = await order(client)

    // The person ends the consent.
    await browser.open(new URL('/oauth/consents', url).href)
    await look('charged')
    await browser.press('end')
    seen.own = await browser.text()
    await fetch(new URL('/test/read', url), { method: 'POST' })
    seen.ended = await order(client)
    await client.close()
    return seen
  } finally {
    callback.close()
    callback.closeAllConnections()
  }
}

const chromium = await start(JSON.parse(command))
try {
  const tab = await chromium.tab() // for all, because a tab with cookies of its own takes a second of a processor
  const seen = []
  for (let n = 0; n < purchases.length; n += 3) {
    seen.push(await buy(tab, pictures ? [false, true] : [n % 2 === 1], ...purchases.slice(n, n + 3)))
  }
  console.log(JSON.stringify(seen))
} finally {
  await chromium.close()
}
