// authorization.mjs ISSUER CLIENT RESOURCE RESULTS: runs what the suite of the protocol's authors requires of authorization servers, and
// agrees on the page that it wants a person to open. CLIENT is a client id whose redirect URI is http://127.0.0.1/callback, with
// any port. The results are written below the directory RESULTS.
import { spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'

import { agree } from './browser.mjs'

const [issuer, client, resource, results] = process.argv.slice(2)
const port = await new Promise((resolve) => {
  const s = createServer().listen(0, '127.0.0.1', () => {
    const { port } = s.address()
    s.close(() => resolve(port))
  })
})
const suite = spawn(process.execPath, [
  '--import', './node20.mjs', 'node_modules/@modelcontextprotocol/conformance/dist/index.js', 'authorization', '--url', issuer,
  '--client-id', client, '--resource', resource, '--port', port, '--output-dir', results,
], { stdio: ['ignore', 'pipe', 'inherit'] })
for await (const line of createInterface(suite.stdout)) {
  console.log(line)
  if (line.startsWith(issuer + '/oauth/authorize?')) await fetch(await agree(line))
}
