// x402.mjs URL TOKEN: for each line of standard input, {"path", "bodies"}, posts each body to the path below URL with the official x402 client,
// which pays with a new key for each line where it must, and prints what it saw as a line of JSON.
import { createInterface } from 'node:readline'
import { wrapFetchWithPaymentFromConfig, decodePaymentResponseHeader } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

const [url, token] = process.argv.slice(2)

async function post(path, bodies) {
  const account = privateKeyToAccount(generatePrivateKey())
  let sent = 0
  const counted = (...args) => { sent++; return fetch(...args) }
  const paying = wrapFetchWithPaymentFromConfig(counted, { schemes: [{ network: 'eip155:*', client: new ExactEvmScheme(account) }] })
  const seen = []
  for (const body of bodies) {
    sent = 0
    try {
      const response = await paying(url + path, {
        method: 'POST', body, headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      })
      const settled = response.headers.get('PAYMENT-RESPONSE')
      seen.push({ status: response.status, requests: sent, settled: settled && decodePaymentResponseHeader(settled), body: await response.json() })
    } catch (e) {
      seen.push({ error: e.message, requests: sent })
    }
  }
  return { payer: account.address, seen }
}

for await (const line of createInterface(process.stdin)) {
  const { path, bodies } = JSON.parse(line)
  console.log(JSON.stringify(await post(path, bodies)))
}
