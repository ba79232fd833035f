// Runs a module once for each line of stdin, each time as a new instance: faster than a new process for each run.
//
//   node repeat.mjs PROGRAM
//
// A line of stdin is the JSON list of arguments. The line of stdout that answers it is the JSON list [exit code, stdout, stderr].
import path from 'node:path'
import readline from 'node:readline'
import { pathToFileURL } from 'node:url'
import { format } from 'node:util'

class Exit extends Error { constructor (code) { super('exit'); this.code = code } }

const program = path.resolve(process.argv[2])
let runs = 0
for await (const line of readline.createInterface({ input: process.stdin })) {
  let out = '', errors = ''
  console.log = (...values) => { out += format(...values) + '\n' }
  console.error = (...values) => { errors += format(...values) + '\n' }
  process.exit = code => { throw new Exit(code) }
  process.exitCode = 0
  process.argv = [process.execPath, program, ...JSON.parse(line)]
  try {
    await import(pathToFileURL(program) + '?run=' + runs++)
  } catch (e) {
    process.exitCode = e instanceof Exit ? e.code : 1
    if (!(e instanceof Exit)) errors += e.stack + '\n'
  }
  process.stdout.write(JSON.stringify([process.exitCode, out, errors]) + '\n')
  process.exitCode = 0
}
