// The conformance suite imports globSync, which only Node.js 22 has, and does not use it where it tests servers.
import { register } from 'node:module'

const fs = 'data:text/javascript,' + encodeURIComponent(
  "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => []")
register('data:text/javascript,' + encodeURIComponent(`
export async function resolve(name, context, next) {
  if (name === 'fs' && /conformance/.test(context.parentURL ?? '')) return { shortCircuit: true, url: ${JSON.stringify(fs)} }
  return next(name, context)
}`))
