// x402.mjs URL TOKEN BODY…: posts each body with the official x402 client, which pays with a new key where it must, and prints what it
// saw as JSON.
import { wrapFetchWithPaymentFromConfig, decodePaymentResponseHeader } from '@x402/fetch'
import { ExactEvmScheme } from '@x402/evm'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

const [url, token, ...bodies] = process.argv.slice(2)
const account = privateKeyToAccount(generatePrivateKey())
let sent = 0
const counted = (...args) => { sent++; return fetch(...args) }
const paying = wrapFetchWithPaymentFromConfig(counted, { schemes: [{ network: 'eip155:*', client: new ExactEvmScheme(account) }] })
const seen = []
for (const body of bodies) {
  sent = 0
  try {
    const response = await paying(url, {
      method: 'POST', body, headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    })
    const settled = response.headers.get('PAYMENT-RESPONSE')
    seen.push({ status: response.status, requests: sent, settled: settled && decodePaymentResponseHeader(settled), body: await response.json() })
  } catch (e) {
    seen.push({ error: e.message, requests: sent })
  }
}
console.log(JSON.stringify({ payer: account.address, seen }))
