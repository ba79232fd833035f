// openapi.mjs URL…: fetches OpenAPI 3.1 documents, compiles each of their JSON Schemas with Ajv, and validates the examples of parameters
// and bodies. It prints the number of schemas and examples, and the faults, as a JSON array.
import Ajv from 'ajv/dist/2020.js'
import formats from 'ajv-formats'

const escape = (name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))

async function examine(url) {
  const document = await (await fetch(url)).json()
  const ajv = new Ajv({ strict: false, allErrors: true })
  formats(ajv)
  ajv.addSchema(document, 'openapi')
  const found = { schemas: 0, examples: 0, faults: [] }
  const walk = (at, value) => {
    if (value === null) found.faults.push(`${at} is null`)
    if (typeof value !== 'object' || value === null) return
    if (value.schema) {
      try {
        const valid = ajv.compile({ $ref: `openapi#${at}/schema` })
        found.schemas++
        const examples = Object.values(value.examples ?? {}).map((e) => e.value)
        for (const example of 'example' in value ? [value.example, ...examples] : examples) {
          found.examples++
          if (!valid(example)) found.faults.push(`${at}: the example: ${ajv.errorsText(valid.errors)}`)
        }
      } catch (e) { found.faults.push(`${at}: ${e.message}`) }
    }
    for (const [name, inner] of Object.entries(value)) if (name !== 'example' && name !== 'examples') walk(`${at}/${escape(name)}`, inner)
  }
  walk('', document)
  return found
}

const all = []
for (const url of process.argv.slice(2)) all.push(await examine(url))
console.log(JSON.stringify(all))
