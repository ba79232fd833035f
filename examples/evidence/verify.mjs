// Verifies a bundle of evidence, as docs/evidence.md describes it. It needs Node.js 20 and nothing else, and makes no requests.
//
//   node verify.mjs FILE [--policy tlog-policy] [--opa]
//
// FILE is .jsonl or .jsonl.gz. The report on stdout is one JSON object. The exit code is 0 if there are no problems, 1 if there are, and
// 2 if the command or a file cannot be used. --opa decides each call again with the program uimgate, which must be in the PATH.
import crypto from 'node:crypto'
import fs from 'node:fs'
import zlib from 'node:zlib'
import { isUtf8 } from 'node:buffer'
import { spawnSync } from 'node:child_process'

const MAX_LINES = 1e6, MAX_LINE = 1 << 20, MAX_DOCUMENT = 8 << 20, MAX_BYTES = 4 * 2 ** 30, MAX_PROBLEMS = 1000
const MAX_ENTRY = 16 << 10, MMD = 10, PROOF_WINDOW = 5 * 60 + 60

// --- the report ---

const problems = [], seen = new Set(), notChecked = {}
let more = 0
const counts = {
  lines: 0, entries: 0, charges: 0, logged: 0, proofs: 0, decisions: 0, policies: 0, agreements: 0, checkpoints: 0, statements: 0, invoices: 0,
}

function problem (name, where, detail) {
  const id = name + '\n' + where + '\n' + detail
  if (seen.has(id)) return
  if (problems.length === MAX_PROBLEMS) { more++; return }
  seen.add(id)
  problems.push({ name, where, detail })
}
const skip = (what, n = 1) => { notChecked[what] = (notChecked[what] || 0) + n }

class Bad extends Error { constructor (name, detail) { super(detail); this.problem = name } }
const bad = (name, detail) => { throw new Bad(name, detail) }

// check runs a function and reports what it throws.
function check (where, name, f) {
  try { return f() } catch (e) { problem(e instanceof Bad ? e.problem : name, where, e instanceof Bad ? e.message : 'it does not have the required form'); return undefined }
}

// --- JSON, RFC 8785, base64, hashes ---

const isObject = v => v !== null && typeof v === 'object' && !Array.isArray(v)
function utf8 (bytes) {
  if (!isUtf8(bytes)) throw new Error('not UTF-8')
  return bytes.toString()
}
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0)

function canonical (v) {
  if (Array.isArray(v)) return '[' + v.map(canonical).join(',') + ']'
  if (isObject(v)) return '{' + Object.keys(v).sort(compare).map(k => JSON.stringify(k) + ':' + canonical(v[k])).join(',') + '}'
  return JSON.stringify(v)
}

// duplicates reports whether an object in a JSON text has two members of one name. JSON.parse must have accepted the text.
function duplicates (text) {
  const stack = []
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]/gs
  for (let m; (m = token.exec(text));) {
    const t = m[0], top = stack[stack.length - 1]
    if (t === '{') stack.push({ names: new Set(), name: true })
    else if (t === '[') stack.push({})
    else if (t === '}' || t === ']') stack.pop()
    else if (t === ',' && top.names) top.name = true
    else if (t[0] === '"' && top && top.names && top.name) {
      const name = JSON.parse(t)
      if (top.names.has(name)) return true
      top.names.add(name)
      top.name = false
    }
  }
  return false
}

function strictObject (bytes) {
  const text = utf8(bytes), v = JSON.parse(text)
  if (!isObject(v) || duplicates(text)) throw new Error('not one object')
  return v
}

// url decodes base64url without padding, and std base64 with padding. Each value has one encoding.
function url (text, size) {
  const raw = typeof text === 'string' ? Buffer.from(text, 'base64url') : null
  if (!raw || raw.toString('base64url') !== text || (size && raw.length !== size)) throw new Error('not base64url')
  return raw
}
function std (text, size) {
  const raw = typeof text === 'string' ? Buffer.from(text, 'base64') : null
  if (!raw || raw.toString('base64') !== text || (size && raw.length !== size)) throw new Error('not base64')
  return raw
}

// crypto.hash, of later versions of Node.js 20, hashes in half the time.
const sha256 = crypto.hash ? data => crypto.hash('sha256', data, 'buffer') : data => crypto.createHash('sha256').update(data).digest()
const sha256url = crypto.hash ? data => crypto.hash('sha256', data, 'base64url') : data => sha256(data).toString('base64url')
const digest = bytes => 'sha-256:' + sha256url(bytes)
const LEAF = Buffer.from([0]), both = Buffer.alloc(65, 1)
function node (a, b) {
  a.copy(both, 1)
  b.copy(both, 33)
  return sha256(both)
}

// --- amounts, in billionths ---

const CURRENCY_FORM = /^[A-Z]{3}$/
function amount (text, signed = false) {
  if (typeof text !== 'string' || !/^-?(0|[1-9]\d{0,9})\.\d\d(\d{0,6}[1-9])?$/.test(text) || text === '-0.00') throw new Error('not an amount')
  if (!signed && text[0] === '-') throw new Error('not an amount')
  const [units, parts] = text.replace('-', '').split('.')
  const n = BigInt(units) * 1000000000n + BigInt(parts.padEnd(9, '0'))
  return text[0] === '-' ? -n : n
}
// price reads an amount of a policy, which may have any decimal form.
function price (v) {
  const m = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,2}))?$/.exec(String(v))
  if (!m) return null
  const parts = m[2] || '', shift = 9 - parts.length + Number(m[3] || 0), n = BigInt(m[1] + parts)
  if (shift >= 0) return n * 10n ** BigInt(shift)
  const by = 10n ** BigInt(-shift)
  return n % by === 0n ? n / by : null
}
function decimal (n) {
  const a = n < 0n ? -n : n, parts = String(a % 1000000000n).padStart(9, '0')
  return (n < 0n ? '-' : '') + a / 1000000000n + '.' + parts.slice(0, 2) + parts.slice(2).replace(/0+$/, '')
}

// --- keys and signatures ---

const keys = new Map() // "purpose kid" → {key, alg, raw}

function fromJWK (jwk) {
  const alg = { OKP: 'EdDSA', EC: 'ES256', RSA: 'RS256' }[jwk.kty]
  const names = { OKP: ['crv', 'kty', 'x'], EC: ['crv', 'kty', 'x', 'y'], RSA: ['e', 'kty', 'n'] }[jwk.kty]
  if (!alg || (jwk.kty === 'OKP' && jwk.crv !== 'Ed25519') || (jwk.kty === 'EC' && jwk.crv !== 'P-256')) return null
  const only = Object.fromEntries(names.map(n => [n, jwk[n]]))
  const key = crypto.createPublicKey({ key: only, format: 'jwk' })
  return { key, alg, kid: sha256(canonical(only)).toString('base64url'), raw: jwk.kty === 'OKP' ? url(jwk.x, 32) : null }
}
function fromSPKI (der) {
  const jwk = crypto.createPublicKey({ key: der, format: 'der', type: 'spki' }).export({ format: 'jwk' })
  if (jwk.crv !== 'secp256k1') return fromJWK(jwk)
  // The address of an agent of another protocol encodes this key. It signs agreements and calls only in that protocol, and never a JWS.
  const { crv, kty, x, y } = jwk
  return { key: null, alg: 'none', kid: sha256(canonical({ crv, kty, x, y })).toString('base64url'), raw: null }
}

const headers = new Map() // those that were parsed, which are few

// A compact JWS. It throws if the text is not one, or if its header has an extension.
function parseJWS (text, limit) {
  const parts = typeof text === 'string' && text.length <= limit ? text.split('.') : []
  if (parts.length !== 3) throw new Error('not a compact JWS')
  let header = headers.get(parts[0])
  if (!header) {
    header = strictObject(url(parts[0]))
    if (['crit', 'b64', 'zip', 'enc'].some(n => n in header)) throw new Error('the header has an extension')
    if (headers.size < 1000) headers.set(parts[0], header)
  }
  return { header, payload: url(parts[1]), signature: url(parts[2]), input: Buffer.from(parts[0] + '.' + parts[1]) }
}
const typeOf = j => String(j.header.typ).toLowerCase().replace(/^application\//, '')

let waiting = 0, wake = null
const settled = limit => new Promise(resolve => { if (waiting <= limit) resolve(); else wake = [limit, resolve] })

// signed verifies a JWS on another thread, and calls back with the result.
function signed (j, key, done) {
  const alg = j.header.alg === 'Ed25519' ? 'EdDSA' : j.header.alg
  if (!key.key || alg !== key.alg) return done(false)
  const of = key.alg === 'ES256' ? { key: key.key, dsaEncoding: 'ieee-p1363' } : key.key
  waiting++
  crypto.verify(key.alg === 'EdDSA' ? null : 'sha256', j.input, of, j.signature, (err, ok) => {
    waiting--
    done(!err && ok)
    if (wake && waiting <= wake[0]) { const resolve = wake[1]; wake = null; resolve() }
  })
}
const ed25519 = (raw, message, signature) => signature.length === 64 && crypto.verify(null, message,
  crypto.createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' }), signature)

// --- entries ---

const STATES = ['held', 'captured', 'released', 'unresolved']
const text = v => typeof v === 'string' && v !== ''
const whole = v => Number.isSafeInteger(v) && v >= 0
const isHash = v => /^[\w-]{42}[AEIMQUYcgkosw048]$/.test(v) // 32 bytes, in their only encoding
const isStdHash = v => /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/.test(v)
const isDigest = v => text(v) && v.startsWith('sha-256:') && isHash(v.slice(8))
const isAmount = v => { try { amount(v, true); return true } catch { return false } }
const shape = (members, optional = []) => v => isObject(v) && Object.keys(v).every(k => k in members && members[k](v[k])) &&
  Object.keys(members).every(k => k in v || optional.includes(k))
const COMMON = {
  v: v => v === 'uim-entry-1', iss: text, epoch: whole, kind: text, by: text,
  at: v => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/.test(v) && !Number.isNaN(Date.parse(v)),
}
const CHAINED = { ...COMMON, account: shape({ agent: text, currency: v => CURRENCY_FORM.test(v) }), k: whole, prev: isHash }
const state = v => STATES.includes(v)
const KINDS = {
  charge: shape({
    ...CHAINED, id: text, from: state, to: state, amount: isAmount, intent: text, rule: text, pol: isDigest, agr: text, pat: text, jkt: text,
    req: isDigest, proof: isDigest, dec: isDigest, outcome: text, ans: isDigest, ans_form: v => v === 'jcs',
  }, ['prev', 'from', 'by', 'intent', 'rule', 'pol', 'agr', 'pat', 'jkt', 'req', 'proof', 'dec', 'outcome', 'ans', 'ans_form']),
  'top-up': shape({ ...CHAINED, amount: isAmount, ref: text, salt: text }, ['prev', 'by', 'ref', 'salt']),
  reversal: shape({ ...CHAINED, amount: isAmount, ref: text, salt: text }, ['prev', 'by', 'ref', 'salt']),
  carry: shape({
    ...CHAINED, salt: text, through: shape({ k: whole, hash: isHash }),
    sums: shape({ captured: isAmount, held: isAmount, topped_up: isAmount, unresolved: isAmount }),
  }, ['prev', 'by', 'salt', 'through']),
  key: shape({ ...COMMON, purpose: text, kid: text, jwk: isObject, vkey: text, salt: text }, ['by', 'vkey', 'salt']),
  restored: shape({ ...COMMON, salt: text, last: shape({ epoch: whole, size: whole, root: isHash }) }, ['by', 'salt', 'last']),
}

function parseEntry (bytes) {
  if (bytes.length > MAX_ENTRY) bad('SIGNATURE', 'the entry has more than 16 KiB')
  let e
  const is = bytes.toString()
  try { e = JSON.parse(is) } catch { bad('SIGNATURE', 'the payload is not JSON') }
  if (!isObject(e) || !isUtf8(bytes) || canonical(e) !== is) bad('SIGNATURE', 'the entry is not in the form of RFC 8785, or has a member twice')
  if (!Object.hasOwn(KINDS, e.kind) || !KINDS[e.kind](e)) bad('SIGNATURE', 'the entry lacks a member, or has an unknown or malformed one')
  if ('k' in e && ('prev' in e) !== (e.k > 0)) bad('SIGNATURE', 'want the member prev if k is above 0, and only then')
  return e
}

// --- the bundle ---

let head = null
const policies = new Map(), agreements = new Map(), accounts = new Map(), executions = new Map(), leaves = new Map()
const checkpoints = new Map(), consistency = [], inclusion = [], totals = [], nonces = new Map(), issuers = new Map(), restored = []
const texts = new Map()
// once returns the same string for equal strings, so that each is in memory once.
function once (v) {
  if (!texts.has(v) && texts.size < 10000) texts.set(v, v)
  return texts.get(v) ?? v
}
const whereOf = e => e.account.currency + ' ' + e.k

function keysLine (line, at) {
  for (const jwk of Array.isArray(line.jwks?.keys) ? line.jwks.keys.slice(0, 1000) : bad('KEY', 'want a JWKS')) {
    let key = null
    try { key = fromJWK(jwk) } catch { }
    if (!key) { skip('keys of other types'); continue }
    if (jwk.kid !== key.kid) { problem('KEY', at, 'the kid of a key is not its thumbprint'); continue }
    keys.set((jwk.uim_purpose || 'pat') + ' ' + key.kid, key)
  }
}

function addPolicy (uid, claimed, bytes) {
  let document
  try { document = strictObject(bytes) } catch { bad('POLICY', 'the document is not one JSON object, or has a member twice') }
  const is = digest(canonical(document))
  if (is !== claimed) bad('POLICY', 'the document has another digest')
  if (uid !== undefined && document.uid !== uid && document['@id'] !== uid) bad('POLICY', 'the document has another uid')
  policies.set(is, document)
  return is
}

function policyLine (line) {
  counts.policies++
  let bytes
  try { bytes = Buffer.from(line.document, 'base64') } catch { bad('POLICY', 'want a document in base64') }
  addPolicy(line.uid, line.digest, bytes)
}

const DETACHED = {
  ed25519: (k, t, s) => crypto.verify(null, t, k, s),
  'rsa-pkcs1v15': (k, t, s) => crypto.verify('sha256', t, k, s),
  'rsa-pss': (k, t, s) => crypto.verify('sha256', t,
    { key: k, padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: crypto.constants.RSA_PSS_SALTLEN_AUTO }, s),
  'ecdsa-p256-raw': (k, t, s) => crypto.verify('sha256', t, { key: k, dsaEncoding: 'ieee-p1363' }, s),
  'ecdsa-p256-der': (k, t, s) => crypto.verify('sha256', t, k, s),
}

// budgetChanges verifies the changes of the budget of a consent, whose record has the payload c.
function budgetChanges (a, c, previous) {
  const list = a.budget_changes ?? [], wrong = (n, rest) => bad('AGREEMENT', `change ${n} of the budget ${rest}`)
  if (!Array.isArray(list) || list.length > 200 || (list.length && !isObject(c.budget))) bad('AGREEMENT', 'only the budget of a consent can change')
  const keep = ({ currency, period, intents }) => canonical({ currency, period, intents })
  let proved = 0
  list.forEach((change, i) => {
    const n = i + 1
    const j = parseJWS(change.record, 2 << 20), r = strictObject(j.payload)
    if (typeOf(j) !== 'uim-budget+jwt' || r.iss !== a.issuer || r.sub !== a.agent_id || r.agr !== a.id) wrong(n, 'belongs to another consent')
    if (r.previous !== digest(previous)) wrong(n, 'does not follow the record before it')
    previous = Buffer.from(change.record)
    if (keep(r.budget) !== keep(c.budget)) wrong(n, 'changes more than the amounts')
    if (amount(r.budget.per_call) > amount(r.budget.amount)) wrong(n, 'permits more for one call than in all')
    if (('key_gone' in change) === ('gateway_public_key' in change)) wrong(n, 'has no key, and does not state that the key is gone')
    if (change.key_gone === true) return
    const key = fromSPKI(url(change.gateway_public_key))
    if (!key || key.kid !== j.header.kid) wrong(n, 'has another key')
    signed(j, key, ok => { if (!ok) problem('AGREEMENT', a.id, `the signature of change ${n} of the budget does not verify`) })
    proved = n
  })
  if (list.length > proved) skip('changes of budgets whose keys are gone', list.length - proved)
}

function agreementLine (line) {
  counts.agreements++
  const { agreement: a, policy: p } = line.export || line
  if (!isObject(a) || !isObject(p) || !text(a.id)) bad('AGREEMENT', 'want an exported agreement')
  const where = (...rest) => bad('AGREEMENT', rest.join(' '))
  if (addPolicy(p.uid, p.digest, url(p.document)) !== a.policy_digest || p.uid !== a.policy_uid) where('the agreement names another policy')
  if (head && (a.issuer !== head.issuer || (a.agent_id !== head.agent && a.agent_id + ' static' !== head.agent))) {
    where('the agreement belongs to another service or agent')
  }
  const consent = a.assurance === 'consent'
  const key = fromSPKI(url(consent ? a.gateway_public_key : a.agent_public_key)) || where('the key has an unknown type')
  if (consent ? a.jkt : a.jkt !== key.kid) where('the key is not the one that jkt names')
  const signature = url(a.signature)
  agreements.set(a.id, { key, jkt: a.jkt || '', policy: a.policy_digest, signature: digest(signature) })
  if (a.form.startsWith('detached:')) {
    const [, form, scheme] = a.form.split(':'), bytes = form === 'served' ? url(p.document) : url(a.signed)
    if (digest(canonical(strictObject(bytes))) !== a.policy_digest) where('the signed text is not the policy')
    if (!key.key || !Object.hasOwn(DETACHED, scheme) || !DETACHED[scheme](key.key, bytes, signature)) where('the signature does not verify')
    return
  }
  if (!['jws-agreement', 'jws-policy', 'consent'].includes(a.form)) return skip('agreements in forms of other protocols')
  const j = parseJWS(signature.toString(), 2 << 20), at = Date.parse(a.created_at) / 1000
  signed(j, key, ok => { if (!ok) problem('AGREEMENT', a.id, 'the signature does not verify') })
  if (a.form === 'jws-policy') {
    if (typeOf(j).startsWith('uim-') || digest(canonical(strictObject(j.payload))) !== a.policy_digest) where('the signed text is not the policy')
    return
  }
  if (consent) budgetChanges(a, strictObject(j.payload), signature)
  const c = strictObject(j.payload), same = (x, y) => canonical(x ?? []) === canonical(y ?? [])
  if (typeOf(j) !== (consent ? 'uim-consent+jwt' : 'uim-agreement+jwt')) where('the JWS has another type')
  const audience = consent ? c.iss : [].concat(c.aud), agent = consent ? c.sub : c.iss
  if ([].concat(audience).join() !== a.issuer || agent !== a.agent_id || c.policy?.digest !== a.policy_digest ||
    (c.policy.uid !== undefined && c.policy.uid !== a.policy_uid) || (c.jti ?? c.nonce) !== a.nonce || !same(c.scope, a.scope)) {
    where('the agreement differs from the one that was signed')
  }
  if (!(Math.abs(at - c.iat) <= 301)) where('the agreement was not made at the time in the bundle')
}

function keyEntry (e, j) {
  const key = keys.get(e.purpose + ' ' + j.header.kid) || bad('KEY', 'the key that signed the entry is unknown, or has another purpose')
  if (e.by !== j.header.kid) bad('KEY', 'the key that the entry names as the previous one did not sign it')
  let own = null
  try { own = fromJWK(e.jwk) } catch { }
  if (!own || own.kid !== e.kid) bad('KEY', 'the kid is not the thumbprint of the key')
  if (e.vkey !== undefined && !(own.raw && parseVerifier(e.vkey).raw.equals(own.raw))) {
    bad('KEY', 'the verifier key is another key')
  }
  keys.set(e.purpose + ' ' + own.kid, own)
  return key
}

function entryLine (line, at) {
  let j
  try { j = parseJWS(line.jws, 24 << 10) } catch { bad('SIGNATURE', 'the text is not a compact JWS') }
  if (typeOf(j) !== 'uim-receipt+jwt' || !text(j.header.kid)) bad('SIGNATURE', 'want the type uim-receipt+jwt and a kid')
  const e = parseEntry(j.payload), where = e.account ? whereOf(e) : at
  counts.entries++
  const leaf = sha256url(Buffer.concat([LEAF, j.payload]))
  let key
  try {
    if (e.kind === 'key') key = keyEntry(e, j)
    else {
      key = keys.get((e.kind === 'restored' ? 'log ' : 'receipt ') + j.header.kid) ||
      bad('KEY', 'the key is unknown, or does not sign entries of this kind')
    }
    if (key.alg !== 'EdDSA') bad('SIGNATURE', 'the algorithm is not EdDSA')
  } catch (err) {
    if (!(err instanceof Bad)) throw err
    problem(err.problem, where, err.message)
  }
  if (key) signed(j, key, ok => { if (!ok) problem('SIGNATURE', where, 'the signature does not verify') })
  const was = issuers.get(e.epoch)
  if (was !== undefined && was !== e.iss) problem('EPOCH', where, 'the issuer changes within an epoch')
  if (was === undefined) issuers.set(e.epoch, e.iss)
  if (leaves.has(leaf)) return problem('DUPLICATE', where, 'the entry occurs twice')
  const at_ = Date.parse(e.at) / 1000
  leaves.set(leaf, { where, epoch: e.epoch, at: at_ })
  if (e.kind === 'restored') restored.push({ at, last: e.last, epoch: e.epoch })
  if (!e.account) return
  if (e.account.agent !== head.agent) problem('AGREEMENT', where, 'the entry belongs to another agent')
  let a = accounts.get(e.account.currency)
  if (!a) accounts.set(e.account.currency, a = { currency: e.account.currency, list: [], byK: new Map(), last: -1 })
  const other = a.byK.get(e.k)
  if (other !== undefined) return problem('FORK', where, 'there are two entries with this number')
  a.byK.set(e.k, leaf)
  if (e.k < a.last) problem('ORDER', where, `the entry comes after entry ${a.last}`)
  a.last = Math.max(a.last, e.k)
  if (e.kind === 'charge') charge(e, where, at_)
  a.list.push({
    k: e.k, leaf, prev: e.prev, kind: once(e.kind), id: e.id, from: once(e.from) || '', to: once(e.to), epoch: e.epoch, at: at_, where,
    intent: once(e.intent), rule: once(e.rule), agr: once(e.agr), pol: once(e.pol), nano: 'amount' in e ? amount(e.amount, true) : 0n, through: e.through, sums: e.sums,
  })
}

// TERMS are the members that every entry of an execution repeats, with the names of the problems if one differs.
const TERMS = {
  amount: 'AMOUNT', req: 'REQUEST', pol: 'POLICY', rule: 'POLICY', intent: 'POLICY', agr: 'AGREEMENT', pat: 'AGREEMENT', jkt: 'AGREEMENT',
  proof: 'PROOF', dec: 'DECISION',
}

function execution (id) {
  let x = executions.get(id)
  if (!x) executions.set(id, x = {})
  return x
}

function charge (e, where, at) {
  const x = execution(e.id)
  if (e.amount[0] === '-' || amount(e.amount) === 0n) problem('AMOUNT', where, 'a charge must be above zero')
  if (e.ans_form !== undefined && e.ans === undefined) problem('ANSWER', where, 'the entry has the form of a digest, but no digest')
  if (e.ans !== undefined && e.to !== 'captured') problem('ANSWER', where, 'only a captured charge has the digest of an output')
  if (e.to === 'captured') x.captured = true
  if (!x.terms) {
    counts.charges++
    x.where = where
    x.terms = {
      amount: once(e.amount), req: e.req, pol: once(e.pol), rule: once(e.rule), intent: once(e.intent), agr: once(e.agr), pat: once(e.pat),
      jkt: once(e.jkt), proof: e.proof, dec: e.dec,
    }
    x.iss = e.iss
    terms(e, where)
  } else {
    for (const [n, name] of Object.entries(TERMS)) {
      if (x.terms[n] !== e[n]) problem(name, where, `the member ${n} differs from an earlier entry of the execution`)
    }
  }
  if (e.from === undefined) { x.began = at; x.beganWhere = where }
}

function terms (e, where) {
  const a = agreements.get(e.agr)
  if (!a) problem('AGREEMENT', where, 'the bundle does not have the agreement')
  else if (a.jkt !== (e.jkt ?? a.jkt)) problem('AGREEMENT', where, 'the agreement has another key')
  priced(e, where)
  if (a && e.pol !== undefined && a.policy !== e.pol) succeeded(a, e, where)
}

// --- prices of a policy ---

const local = s => (typeof s === 'string' ? s.slice(Math.max(s.lastIndexOf('/'), s.lastIndexOf('#'), s.lastIndexOf(':')) + 1) : '')
const listed = v => (v === undefined ? [] : Array.isArray(v) ? v : [v])
const member = (o, ...names) => { for (const k of Object.keys(o)) if (names.includes(local(k))) return o[k] }
const value = v => (isObject(v) ? v['@value'] ?? v['@id'] ?? v.value : v)
const CURRENCIES = { Euro: 'EUR', United_States_dollar: 'USD', Pound_sterling: 'GBP', Japanese_yen: 'JPY', Swiss_franc: 'CHF' }

function pointed (document, rule) {
  if (!rule.startsWith('/')) {
    const todo = [document]
    for (let v; (v = todo.pop()) !== undefined;) {
      if (isObject(v) && v !== document && (v.uid === rule || v['@id'] === rule) && Object.keys(v).length > 1) return v
      if (v !== null && typeof v === 'object') todo.push(...Object.values(v))
    }
    return undefined
  }
  return rule.slice(1).split('/').map(s => s.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((v, k) => (v !== null && typeof v === 'object' && Object.hasOwn(v, k) ? v[k] : undefined), document)
}

const named = a => local(isObject(a) ? value(member(a, 'value') ?? a) : a)

// payment returns what a duty charges: {nano, currency, always}, or null if it does not charge.
function payment (duty) {
  if (!isObject(duty)) return null
  const pays = listed(member(duty, 'action')).find(a => ['pay', 'compensate'].includes(named(a)))
  if (pays === undefined) return null
  let paid = member(duty, 'amount'), unit = member(duty, 'unit', 'currency'), always = true
  if (isObject(paid)) { unit ??= member(paid, 'unit', 'currency'); paid = value(paid) }
  for (const c of [...listed(member(duty, 'constraint')), ...(isObject(pays) ? listed(member(pays, 'refinement')) : [])]) {
    const left = isObject(c) ? local(value(member(c, 'leftOperand'))) : ''
    if (left === 'payAmount') { paid = value(member(c, 'rightOperand')); unit = member(c, 'unit') ?? unit } else if (left !== 'unitOfCount') always = false
  }
  const code = local(value(unit))
  return { nano: price(paid), currency: CURRENCIES[code] || code, always }
}

// sums returns the amounts that a rule can charge, as a set of strings.
function sums (document, rule, currency) {
  let totals = [0n]
  const add = (duty, binds) => {
    const p = payment(duty)
    if (!p || p.nano === null || p.currency !== currency) return
    totals = p.always && binds ? totals.map(t => t + p.nano) : totals.flatMap(t => [t, t + p.nano])
    totals = [...new Set(totals)].slice(0, 1024)
  }
  for (const d of listed(member(rule, 'duty'))) add(d, true)
  for (const o of listed(member(document, 'obligation'))) if (isObject(o)) add(o, !member(o, 'target', 'assignee'))
  return totals
}

// clause returns the terms of a policy for an intent, as a string: its rules, except those for other intents alone, in any order, and the
// members that apply to all rules.
const GOVERNING = ['context', 'uid', 'id', 'type', 'conflict', 'inheritFrom', 'target', 'action', 'assigner', 'assignee']
const plain = name => local(name).replace('@', '')
function clause (document, intent) {
  const terms = []
  for (const [name, v] of Object.entries(document)) {
    if (GOVERNING.includes(plain(name))) terms.push(plain(name) + canonical(v))
    if (!['permission', 'prohibition', 'obligation'].includes(plain(name))) continue
    for (const rule of listed(v)) {
      if (!isObject(rule)) { terms.push(plain(name) + canonical(rule)); continue }
      const own = Object.fromEntries(Object.entries(rule).filter(([k]) => !['target', 'uid', 'id'].includes(plain(k))))
      const targets = Object.keys(rule).filter(k => plain(k) === 'target').flatMap(k => listed(rule[k]))
      const uids = targets.map(t => (isObject(t) && Object.keys(t).every((k, i) => i === 0 && ['uid', 'id'].includes(plain(k))) ? Object.values(t)[0] : t))
      if (targets.length === 0 || uids.some(u => !/^[^:/\s]+:[^:/\s]+:v\d+$/.test(u))) own.target = targets
      else if (!uids.includes(intent)) continue
      terms.push(plain(name) + canonical(own))
    }
  }
  return terms.sort(compare).join('\n')
}

// succeeded checks a charge under a policy other than that of the agreement: the agent has agreed to that policy as well, or its terms of
// the intent are the same. If they are written in another way, --opa decides the call under the agreed policy as well.
const successions = new Map()
function succeeded (a, e, where) {
  const was = policies.get(a.policy), is = policies.get(e.pol)
  if (!was || !is || [...agreements.values()].some(other => other.jkt === a.jkt && other.policy === e.pol)) return
  const id = [a.policy, e.pol, e.intent].join('\n')
  if (!successions.has(id)) successions.set(id, clause(was, e.intent) === clause(is, e.intent))
  if (successions.get(id)) return
  const nano = amount(e.amount, true)
  if (was.uid !== is.uid || !listed(member(was, 'permission')).some(r => isObject(r) && sums(was, r, e.account.currency).includes(nano))) {
    return problem('POLICY', where, 'the agreement is to another policy, whose terms of the intent differ')
  }
  execution(e.id).agreed = a.policy
}

const fair = new Set() // the amounts that were found in a policy
function priced (e, where) {
  if (e.pol === undefined || e.rule === undefined) return skip('charges without a policy')
  const document = policies.get(e.pol)
  if (!document) return problem('POLICY', where, 'the bundle does not have the policy')
  const id = [e.pol, e.rule, e.amount, e.account.currency].join('\n')
  if (fair.has(id)) return
  const nano = amount(e.amount, true), has = (d, r) => isObject(r) && sums(d, r, e.account.currency).includes(nano)
  const rule = pointed(document, e.rule)
  if (has(document, rule)) return fair.add(id)
  if (!isObject(rule)) return problem('POLICY', where, 'the policy does not have the rule')
  problem('AMOUNT', where, 'the amount is not the one that the policy states at the rule')
}

// --- proofs of key and decisions ---

function proofLine (line) {
  counts.proofs++
  const x = execution(line.execution)
  if (!text(line.jws)) bad('PROOF', 'want a compact JWS')
  x.proof = digest(line.jws)
  const j = parseJWS(line.jws, 8 << 10), c = strictObject(j.payload)
  if (typeOf(j) === 'uim-confirmation+jwt') return confirmationOf(x, j, c, line.execution)
  if (typeOf(j) !== 'uim-proof+jwt') bad('PROOF', 'want the type uim-proof+jwt or uim-confirmation+jwt')
  x.claims = { kid: j.header.kid, aud: once([].concat(c.aud).join()), pat: once(c.pat), digest: 'sha-256:' + c.digest, iat: c.iat }
  const a = [...agreements.values()].find(a => a.key.kid === j.header.kid)
  if (a) signed(j, a.key, ok => { if (!ok) problem('PROOF', line.execution, 'the signature of the proof does not verify') })
}

// A call under the consent of a person has no proof of key. If the person confirmed the call, the gateway has signed a record of that.
function confirmationOf (x, j, c, execution) {
  x.confirmed = {
    iss: once(c.iss), agr: once(c.agr), pol: once(c.pol), intent: once(c.intent), req: 'sha-256:' + c.digest,
    amount: once(c.amount), iat: c.iat, assurance: c.assurance,
  }
  const a = [...agreements.values()].find(a => a.key.kid === j.header.kid)
  if (!a) return skip('signatures of confirmations whose key the bundle does not have')
  signed(j, a.key, ok => { if (!ok) problem('PROOF', execution, 'the signature of the confirmation does not verify') })
}

// CONFIRMATION_WINDOW is how long before its call a confirmation can have been made, in seconds.
const CONFIRMATION_WINDOW = 10 * 60 + 60

function confirmedCall (x, t, where) {
  const c = x.confirmed
  if (t.jkt !== undefined || c.assurance !== 'confirmed') problem('PROOF', where, 'a confirmation is not a proof of key')
  if (c.iss !== x.iss) problem('PROOF', where, 'the confirmation is for another service')
  if (c.agr !== t.agr) problem('PROOF', where, 'the confirmation is for another consent')
  if (c.pol !== t.pol) problem('POLICY', where, 'the person confirmed the call under another policy')
  if (c.intent !== t.intent || c.req !== t.req) problem('REQUEST', where, 'the person confirmed another call')
  if (c.amount !== t.amount) problem('AMOUNT', where, 'the person confirmed another amount')
  if (x.began !== undefined && !(x.began - c.iat <= CONFIRMATION_WINDOW && c.iat - x.began <= 60)) {
    problem('PROOF', where, 'the confirmation was made at another time')
  }
}

const decisions = []
function decisionLine (line) {
  counts.decisions++
  if (!text(line.asked)) bad('DECISION', 'want the text of the question')
  const x = execution(line.execution), q = JSON.parse(line.asked)
  x.asked = digest(line.asked)
  x.target = q.request?.target
  if (line.sha256 !== x.asked) problem('DECISION', line.execution, 'the digest of the line is not that of its text')
  if (useOPA) decisions.push([line.execution, line.asked])
}

function finishExecutions () {
  for (const [id, x] of executions) {
    if (!x.terms) { problem('UNKNOWN_EXECUTION', id, 'a proof or a decision names an execution that has no entry'); continue }
    const t = x.terms, where = x.beganWhere || x.where
    if (x.agreed !== undefined && !(useOPA && x.asked !== undefined)) skip('charges under a policy that is written differently from the agreed one')
    if (x.asked !== undefined) {
      if (x.asked !== t.dec) problem('DECISION', where, 'the question has another digest')
      else if (x.target !== t.intent) problem('DECISION', where, 'the question is about another intent')
    } else if (t.dec !== undefined && x.began !== undefined) {
      if (head.proofs === undefined) skip('decisions that the bundle does not have')
      else problem('DECISION', where, 'the bundle does not have the question')
    }
    const p = x.claims
    if (x.proof !== undefined && x.proof !== t.proof) problem('PROOF', where, 'the proof has another digest')
    else if (x.confirmed) confirmedCall(x, t, where)
    else if (p) {
      if (p.kid !== t.jkt) problem('PROOF', where, 'another key signed the proof')
      if (p.aud !== x.iss) problem('PROOF', where, 'the proof is for another service')
      if (p.pat !== t.pat) problem('PROOF', where, 'the proof is for another PAT')
      if (p.digest !== t.req) problem('REQUEST', where, 'the agent signed another request')
      if (x.began !== undefined && !(Math.abs(p.iat - x.began) <= PROOF_WINDOW)) problem('PROOF', where, 'the proof was made at another time')
    } else if (t.proof !== undefined && x.began !== undefined) {
      if (head.proofs === true) problem('PROOF', where, 'the bundle does not have the proof')
      else skip('proofs of key that the bundle does not have')
    }
    if (t.proof !== undefined && x.captured) {
      const other = nonces.get(t.proof)
      if (other !== undefined) problem('DUPLICATE', where, `the proof was used for entry ${other} as well`)
      nonces.set(t.proof, where)
    }
  }
}

// --- the chain of an account ---

const NEXT = { '': ['held'], held: ['captured', 'released', 'unresolved'], unresolved: ['captured', 'released'] }
const none = () => ({ topped_up: 0n, held: 0n, unresolved: 0n, captured: 0n })
const position = sums => Object.fromEntries(Object.keys(none()).map(n => [n, amount(sums[n], true)]))
const equal = (a, b) => Object.keys(none()).every(n => a[n] === b[n])

// move applies an entry to a position. Held includes unresolved, as in statements.
function move (p, e) {
  const add = (state, nano) => {
    if (state === 'held' || state === 'unresolved') p.held += nano
    if (state === 'unresolved' || state === 'captured') p[state] += nano
  }
  if (e.kind === 'charge') { add(e.from, -e.nano); add(e.to, e.nano) }
  if (e.kind === 'top-up' || e.kind === 'reversal') p.topped_up += e.nano
  if (e.kind === 'carry' && e.k === 0) Object.assign(p, position(e.sums))
}

function finishAccount (a) {
  const list = a.list.sort((x, y) => x.k - y.k), calls = new Map()
  const carries = new Map(list.filter(e => e.through).map(e => [e.through.k, e]))
  let before = null, epoch = 0, p = null
  const first = carries.get(list[0].k - 1)
  if (list[0].k === 0) p = none()
  else if (first) {
    p = position(first.sums)
    if (first.through.hash !== list[0].prev) problem('FORK', list[0].where, `the entry does not follow the one that carry ${first.k} names`)
  }
  const complete = list[0].k === 0 && !list[0].sums
  for (const e of list) {
    if (before && e.k !== before.k + 1) {
      problem('GAP', e.where, `entries ${before.k + 1} to ${e.k - 1} are missing`)
      p = null
    } else if (before && e.prev !== before.leaf) problem('FORK', e.where, `the entry does not follow entry ${before.k}: it has the hash of another`)
    if (e.epoch < epoch) problem('EPOCH', e.where, `the epoch decreases from ${epoch} to ${e.epoch}`)
    epoch = Math.max(epoch, e.epoch)
    if (e.kind === 'carry') {
      if (!e.through && e.k > 0) problem('GAP', e.where, 'the carry does not name the last entry that it replaces')
      if (e.through && e.through.k >= e.k) problem('ORDER', e.where, 'the carry replaces entries that come after it')
      const had = e.through && a.byK.get(e.through.k)
      if (had !== undefined && had !== e.through?.hash && e.through) problem('FORK', e.where, `the carry replaces another entry ${e.through.k}`)
    }
    if ((e.kind === 'top-up' && e.nano <= 0n) || (e.kind === 'reversal' && e.nano >= 0n)) problem('AMOUNT', e.where, 'the sign of the amount is wrong')
    if (e.kind === 'charge') {
      const was = calls.get(e.id)
      if (!(NEXT[e.from] || []).includes(e.to)) problem('STATE', e.where, `a charge must not change from "${e.from}" to "${e.to}"`)
      else if (was === undefined ? e.from !== '' && complete : was !== e.from) {
        problem('STATE', e.where, `the execution was "${was ?? ''}", and changes from "${e.from}"`)
      }
      calls.set(e.id, e.to)
    }
    if (p) {
      move(p, e)
      if (Object.values(p).some(n => n < 0n)) { problem('AMOUNT', e.where, 'a sum of the account is below zero'); p = null }
    }
    const cut = carries.get(e.k)
    if (p && cut && cut.through.hash === e.leaf && !equal(position(cut.sums), p)) {
      problem('AMOUNT', cut.where, `the sums of the carry are not those of the entries up to ${e.k}`)
    }
    before = e
  }
}

// --- the log ---

const trust = { logs: null, witnesses: new Map(), groups: new Map(), quorum: 'none' }
const keyID = (name, raw) => sha256(Buffer.concat([Buffer.from(name + '\n'), raw])).subarray(0, 4)

function parseVerifier (vkey) {
  const [, name, id, key] = /^([^+\s]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) || []
  const raw = std(key)
  if (!keyID(name, raw).equals(Buffer.from(id, 'hex'))) throw new Error('the id of the key is wrong')
  return { name, id, type: raw[0], raw: raw.subarray(1) }
}

function readTrust (file) {
  const policy = fs.readFileSync(file, 'utf8')
  let quorum = null
  for (const line of policy.split('\n')) {
    const [word, ...rest] = line.split(/[ \t]+/).filter(Boolean)
    if (!word || word[0] === '#') continue
    if (word === 'log') (trust.logs ??= []).push(parseVerifier(rest[0]))
    else if (word === 'witness' && !taken(rest[0])) trust.witnesses.set(rest[0], parseVerifier(rest[1]))
    else if (word === 'group' && !taken(rest[0]) && rest.length > 2 && rest.slice(2).every(taken)) {
      const members = rest.slice(2), most = members.length
      const k = rest[1] === 'any' ? 1 : rest[1] === 'all' ? most : Number(rest[1])
      if (!(k >= 1 && k <= most) || new Set(members).size < most) throw new Error('a group of the policy is wrong: ' + line)
      trust.groups.set(rest[0], { k, members })
    } else if (word === 'quorum' && quorum === null && (rest[0] === 'none' || taken(rest[0]))) quorum = rest[0]
    else throw new Error('the policy has an invalid line: ' + line)
  }
  if (quorum === null) throw new Error('the policy has no quorum line')
  trust.quorum = quorum
}
const taken = name => trust.witnesses.has(name) || trust.groups.has(name)

// openCheckpoint parses a checkpoint and verifies the signature of the log. It remembers texts that it has verified.
const opened = new Map()
function openCheckpoint (note) {
  let c = opened.get(note)
  if (c) return c
  if (typeof note !== 'string' || note.length > 64 << 10) bad('LOG', 'the text is not a checkpoint')
  const cut = note.indexOf('\n\n'), body = note.slice(0, cut + 1), lines = body.split('\n')
  if (cut < 0 || lines.length < 4 || !/^(0|[1-9]\d{0,15})$/.test(lines[1])) bad('LOG', 'the text is not a checkpoint')
  c = { origin: lines[0], size: Number(lines[1]), root: std(lines[2], 32), time: null, body, signatures: [] }
  for (const line of lines.slice(3)) if (/^time [1-9]\d{0,11}$/.test(line)) c.time = Number(line.slice(5))
  for (const line of note.slice(cut + 2).split('\n')) {
    const m = /^— (\S+) (\S+)$/.exec(line)
    if (m) { const raw = std(m[2]); c.signatures.push({ name: m[1], id: raw.subarray(0, 4), raw: raw.subarray(4) }) }
  }
  const logs = trust.logs ?? [...keys].filter(([name, k]) => name.startsWith('log ') && k.raw).map(([, k]) => ({ name: c.origin, type: 1, raw: k.raw }))
  const ok = logs.some(l => l.type === 1 && l.name === c.origin && c.signatures.some(s => s.name === c.origin &&
    s.id.equals(keyID(c.origin, Buffer.concat([Buffer.from([1]), l.raw]))) && ed25519(l.raw, Buffer.from(body), s.raw)))
  if (!ok) bad('LOG', 'no known key of the log signed the checkpoint')
  opened.set(note, c)
  counts.checkpoints++
  const of = checkpoints.get(c.origin) || new Map(), other = of.get(c.size)
  checkpoints.set(c.origin, of)
  if (other && !other.root.equals(c.root)) problem('FORK', c.origin, `two checkpoints of size ${c.size} have different roots`)
  if (!other) of.set(c.size, { ...c, all: [c] })
  else { other.all.push(c); other.time = Math.max(other.time, c.time) }
  return c
}

function cosigned (c, name) {
  const group = trust.groups.get(name)
  if (group) return group.members.filter(m => cosigned(c, m)).length >= group.k
  const w = trust.witnesses.get(name)
  return w.type === 4 && c.signatures.some(s => s.name === w.name && s.id.toString('hex') === w.id && s.raw.length === 72 &&
    ed25519(w.raw, Buffer.from(`cosignature/v1\ntime ${s.raw.readBigUInt64BE()}\n` + c.body), s.raw.subarray(8)))
}

// lastNodes are the last nodes that parent has computed, by their place in a path. Proofs of neighbours share most of their path.
const lastNodes = []
// parent returns the hash of two nodes, all in base64.
function parent (place, left, right) {
  const last = lastNodes[place]
  if (last && last.left === left && last.right === right) return last.hash
  const hash = node(std(left, 32), std(right, 32)).toString('base64')
  lastNodes[place] = { left, right, hash }
  return hash
}

// included computes RFC 9162 section 2.1.3.2. Its hashes are in base64.
function included (index, size, leaf, path, root) {
  if (index >= size) return false
  let fn = index, sn = size - 1, r = leaf
  const half = () => { fn = Math.floor(fn / 2); sn = Math.floor(sn / 2) }
  for (let i = 0; i < path.length; i++) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      r = parent(i, path[i], r)
      while (fn % 2 === 0 && fn !== 0) half()
    } else r = parent(i, r, path[i])
    half()
  }
  return sn === 0 && r === root
}

// consistent computes RFC 9162 section 2.1.4.2.
function consistent (a, b, path) {
  if (a.size === 0) return true
  if (a.size === b.size) return path.length === 0 && a.root.equals(b.root)
  let fn = a.size - 1, sn = b.size - 1
  const half = () => { fn = Math.floor(fn / 2); sn = Math.floor(sn / 2) }
  while (fn % 2 === 1) half()
  const list = fn === 0 ? [a.root, ...path] : path
  if (list.length === 0) return false
  let fr = list[0], sr = list[0]
  for (const c of list.slice(1)) {
    if (sn === 0) return false
    if (fn % 2 === 1 || fn === sn) {
      fr = node(c, fr)
      sr = node(c, sr)
      while (fn % 2 === 0 && fn !== 0) half()
    } else sr = node(sr, c)
    half()
  }
  return sn === 0 && fr.equals(a.root) && sr.equals(b.root)
}

function logProofLine (line, at) {
  const cut = line.text.indexOf('\n\n'), [header, ...rows] = line.text.slice(0, cut).split('\n')
  if (cut < 0 || header !== 'c2sp.org/tlog-proof@v1') bad('LOG', 'the text is not a proof of inclusion')
  if (rows[0]?.startsWith('extra ')) rows.shift()
  const m = /^index (0|[1-9]\d{0,15})$/.exec(rows.shift())
  if (!m || rows.length > 63 || !rows.every(isStdHash)) bad('LOG', 'the text is not a proof of inclusion')
  const p = { leaf: line.entry, index: Number(m[1]), path: rows, note: line.text.slice(cut + 2), at }
  if (p.note !== '' && leaves.has(p.leaf)) inLog(p)
  else inclusion.push(p)
}

const epochOf = origin => { const m = /\/uim-ledger\/(0|[1-9]\d{0,8})$/.exec(origin); return m ? Number(m[1]) : null }
const originOf = (iss, epoch) => iss.replace(/[^!-~]|[+%]/gu, c => [...Buffer.from(c)].map(b => '%' + b.toString(16).toUpperCase().padStart(2, '0'))
  .join('')) + '/uim-ledger/' + epoch

function inLog (p) {
  const of = leaves.get(p.leaf)
  if (!of) return problem('LOG', p.at, 'the bundle does not have the entry of the proof')
  check(of.where, 'LOG', () => {
    const origin = originOf(issuers.get(of.epoch), of.epoch)
    const c = p.note === '' ? [...(checkpoints.get(origin) || new Map()).values()].pop() : openCheckpoint(p.note)
    if (!c || c.origin !== origin) bad('LOG', 'the checkpoint is not from the log of the epoch')
    if (!included(p.index, c.size, url(p.leaf, 32).toString('base64'), p.path, c.root.toString('base64'))) bad('LOG', 'the proof does not lead to the root of the checkpoint')
    if (!of.proven) counts.logged++
    of.proven = true
  })
}

function finishLog () {
  inclusion.forEach(inLog)
  const shown = new Set()
  for (const { line, at } of consistency) {
    check(at, 'LOG', () => {
      const path = line.hashes.map(h => (h.length === 44 ? std : url)(h, 32))
      if (!whole(line.old) || !whole(line.new)) bad('LOG', 'want two sizes')
      const pairs = [...checkpoints].filter(([, of]) => of.has(line.old) && of.has(line.new) && line.old <= line.new)
      const good = pairs.filter(([, of]) => consistent(of.get(line.old), of.get(line.new), path))
      if (pairs.length > 0 && good.length === 0) bad('FORK', `the log of size ${line.new} does not contain the one of size ${line.old}`)
      for (const [origin] of good) shown.add(`${origin} ${line.old} ${line.new}`)
    })
  }
  const newest = new Map() // by epoch
  for (const [origin, of] of checkpoints) {
    const sizes = [...of.keys()].sort((a, b) => a - b), last = of.get(sizes[sizes.length - 1])
    for (const [i, size] of sizes.slice(0, -1).entries()) {
      if (size > 0 && !sizes.slice(i + 1).some(n => shown.has(`${origin} ${size} ${n}`)) && !problems.some(p => p.name === 'FORK')) {
        problem('LOG', origin, `no proof shows that the log contains its state of size ${size}`)
      }
    }
    if (trust.quorum !== 'none' && !last.all.some(c => cosigned(c, trust.quorum))) problem('LOG', origin, 'too few witnesses cosigned the newest checkpoint')
    if (epochOf(origin) !== null) newest.set(epochOf(origin), Math.max(newest.get(epochOf(origin)) ?? 0, last.time ?? 0))
  }
  for (const r of restored) {
    const of = r.last && [...checkpoints].find(([origin]) => epochOf(origin) === r.last.epoch)
    if (r.last && r.last.epoch >= r.epoch) problem('EPOCH', r.at, 'the epoch that the entry names as the previous one is not an earlier one')
    if (!of) continue
    if (Math.max(...of[1].keys()) > r.last.size) problem('EPOCH', r.at, 'the log had grown beyond the state that was restored')
    const was = of[1].get(r.last.size)
    if (was && was.root.toString('base64url') !== r.last.root) problem('FORK', r.at, 'the root in the entry is not that of the checkpoint of that size')
  }
  const latest = Math.max(0, ...newest.keys())
  for (const of of leaves.values()) {
    const time = Math.max(...[...newest].filter(([epoch]) => epoch >= of.epoch).map(([, t]) => t))
    if (of.proven) continue
    if (!(time > 0)) skip('entries for whose log the bundle has no checkpoint')
    else if (of.at < time - MMD) problem('RECEIPT_NOT_LOGGED', of.where, 'the bundle does not show that the log has the entry')
    else skip('entries that need not be in the log yet')
  }
  for (const [epoch, iss] of issuers) {
    if (iss !== head.issuer && epoch >= Math.max(latest, ...issuers.keys())) problem('AGREEMENT', iss, 'the entries belong to another service')
  }
}

// --- statements and invoices ---

function totalLine (line, at, kind) {
  counts[kind === 'STATEMENT' ? 'statements' : 'invoices']++
  const j = parseJWS(line.jws, 16 << 20), typ = kind === 'STATEMENT' ? 'uim-statement+jwt' : 'uim-invoice+jwt'
  if (typeOf(j) !== typ) bad(kind, 'want the type ' + typ)
  const key = keys.get('receipt ' + j.header.kid) || bad('KEY', 'the key is unknown, or does not sign receipts')
  signed(j, key, ok => { if (!ok) problem('SIGNATURE', at, 'the signature does not verify') })
  totals.push({ kind, at, p: strictObject(j.payload) })
}

function finishTotal ({ kind, at, p }) {
  const say = detail => problem(kind, at, detail)
  const agent = p.agent_id ?? p.agent, currency = p.currency ?? p.totals?.[0]?.currency
  if (agent !== head.agent || (p.issuer ?? p.iss ?? head.issuer) !== head.issuer) return say('it belongs to another service or agent')
  const a = accounts.get(currency), from = p.from_k, to = p.to_k
  const c = typeof p.checkpoint === 'string' ? openCheckpoint(p.checkpoint) : p.checkpoint
  const had = isObject(c) && checkpoints.get(c.origin)?.get(c.size)
  if (had && ![had.root.toString('base64'), had.root.toString('base64url')].includes(Buffer.isBuffer(c.root) ? c.root.toString('base64') : c.root)) {
    problem('FORK', at, 'its root is not that of the checkpoint of that size')
  }
  const range = []
  if (from === null && to === null) {
    if (canonical(p.opening_head ?? null) !== canonical(p.closing_head ?? null)) say('it has no entries, but two different heads')
  } else {
    if (!whole(from) || !whole(to) || from > to || to - from > MAX_LINES) return say('want from_k and to_k')
    range.push(...(a ? a.list.filter(e => e.k >= from && e.k <= to) : []))
    if (range.length !== to - from + 1) return say(`entries between ${from} and ${to} are missing`)
    const o = p.opening_head, closing = p.closing_head
    if (o && from > 0 && (o.k !== from - 1 || o.hash !== range[0].prev)) say('the opening head is not that of the entry before')
    if (closing && (closing.k !== to || closing.hash !== range[range.length - 1].leaf)) say('the closing head is not that of the last entry')
  }
  const start = Date.parse(p.from) / 1000, end = Date.parse(p.to) / 1000
  const outside = a?.list.find(e => (from === null || e.k < from || e.k > to) && e.at >= start + 60 && e.at < end - 60)
  if (outside) say(`entry ${outside.k} is in the period, but not between from_k and to_k`)
  if (kind === 'STATEMENT') statement(p, range, say)
  else invoice(p, range, currency, say)
}

function statement (p, range, say) {
  const now = position(p.opening), moved = none(), tops = { up: 0n, back: 0n }, rows = new Map()
  for (const q of [p.opening, p.closing]) {
    const n = position(q)
    if (amount(q.balance, true) !== n.topped_up - n.held - n.captured) say('a balance is not the amount topped up minus held and captured')
  }
  for (const e of range) {
    if (e.kind === 'carry' && e.k === 0) return skip('sums of statements that include the beginning of a chain')
    move(moved, e)
    if (e.kind === 'top-up') tops.up += e.nano
    if (e.kind === 'reversal') tops.back -= e.nano
    if (e.kind === 'charge') {
      const id = `${e.intent}\n${e.rule}\n${e.to}`, r = rows.get(id) || { calls: 0, nano: 0n }
      rows.set(id, { calls: r.calls + 1, nano: r.nano + e.nano })
    }
  }
  for (const n of Object.keys(now)) now[n] += moved[n]
  if (!equal(now, position(p.closing))) say('the opening position and the entries do not give the closing position')
  if (amount(p.topped_up) !== tops.up || amount(p.reversed) !== tops.back) say('the top-ups are not those of the entries')
  let stated = 0
  for (const l of p.lines) {
    for (const s of STATES) {
      const r = rows.get(`${l.intent}\n${l.rule}\n${s}`) || { calls: 0, nano: 0n }
      if (r.calls > 0) stated++
      if (l[s].calls !== r.calls || amount(l[s].amount) !== r.nano) say(`the line of "${s}" charges is not the sum of the entries`)
    }
  }
  if (stated !== rows.size) say('a line is missing')
}

function invoice (p, range, currency, say) {
  const rows = new Map(), byAgreement = new Map()
  let calls = 0, nano = 0n
  for (const e of range.filter(e => e.kind === 'charge' && e.to === 'captured')) {
    const id = `${e.intent}\n${e.rule}\n${e.nano}`, of = e.agr + '\n' + e.pol
    rows.set(id, (rows.get(id) || 0) + 1)
    byAgreement.set(of, (byAgreement.get(of) || 0) + 1)
    calls++
    nano += e.nano
  }
  let sum = 0n
  for (const r of p.rows.filter(r => r.currency === currency)) {
    sum += amount(r.amount)
    if (r.others) continue
    if (amount(r.unit_price) * BigInt(r.calls) !== amount(r.amount)) say('a row is not the price times the calls')
    if (rows.get(`${r.intent}\n${r.rule}\n${amount(r.unit_price)}`) !== r.calls) say('a row is not the sum of the entries')
  }
  const total = p.totals.find(t => t.currency === currency) || { calls: 0, amount: '0.00' }
  if (total.calls !== calls || amount(total.amount) !== nano || sum !== nano) say('the total is not the sum of the entries')
  for (const e of p.evidence) {
    if (p.totals.length < 2 && byAgreement.has(e.agreement_id + '\n' + e.policy_digest) && byAgreement.get(e.agreement_id + '\n' + e.policy_digest) !== e.calls) {
      say('the calls of an agreement are not those of the entries')
    }
    const a = agreements.get(e.agreement_id)
    if (a && a.signature !== e.signature_digest) say('the signature of an agreement has another digest')
  }
}

// --- decided again ---

function decideAgain () {
  if (spawnSync('uimgate', ['version']).error) return skip('decisions, because uimgate is not in the PATH', decisions.length)
  for (let i = 0; i < decisions.length; i += 1000) {
    const batch = decisions.slice(i, i + 1000).flatMap(([id, asked]) => {
      const { terms: t, agreed } = executions.get(id), q = JSON.parse(asked)
      const hidden = Object.values(q.request.context || {}).some(v => typeof v === 'string' && /^[0-9a-f]{64}$/.test(v))
      if (!t || !policies.has(t.pol) || hidden) { skip('decisions with hidden facts or without a policy'); return [] }
      return [t.pol, agreed].filter(Boolean).map(pol => ({ id, asked, pol }))
    })
    const input = batch.map(({ asked, pol }) => `{"policy":${JSON.stringify(policies.get(pol))},${asked.slice(1)}\n`).join('')
    const out = spawnSync('uimgate', ['policy', 'decide', '--batch', '-'], { input, maxBuffer: 1 << 30 }).stdout.toString().trim().split('\n')
    for (const [n, { id, pol }] of batch.entries()) {
      const { terms: t, where } = executions.get(id), d = check(where, 'DECISION', () => JSON.parse(out[n]))
      if (!d) continue
      const name = pol === t.pol ? 'DECISION' : 'POLICY', of = pol === t.pol ? 'the policy' : 'the agreed policy'
      if (d.error) skip('decisions under policies that uimgate does not load')
      else if (d.decision !== 'permit') problem(name, where, of + ' does not permit the call')
      else if ((d.rule === t.rule || pol !== t.pol) && d.charges.reduce((s, c) => s + price(c.amount), 0n) !== amount(t.amount, true)) {
        problem(name, where, of + ' charges another amount')
      }
    }
  }
}

// --- reading ---

async function * lines (file) {
  const raw = fs.createReadStream(file)
  const stream = file.endsWith('.gz') ? raw.pipe(zlib.createGunzip()) : raw
  raw.on('error', e => stream.destroy(e))
  let rest = [], size = 0, total = 0
  for await (const chunk of stream) {
    if ((total += chunk.length) > MAX_BYTES) bad('FILE', 'the bundle is larger than 4 GiB')
    let start = 0
    for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
      rest.push(chunk.subarray(start, end))
      const line = Buffer.concat(rest)
      rest = []
      size = 0
      if (line.length > MAX_DOCUMENT) bad('FILE', 'a line is longer than 8 MiB')
      yield line
    }
    rest.push(chunk.subarray(start))
    if ((size += chunk.length - start) > MAX_DOCUMENT) bad('FILE', 'a line is longer than 8 MiB')
  }
  if (size > 0) yield Buffer.concat(rest)
}

const TYPES = {
  keys: ['KEY', keysLine], policy: ['POLICY', policyLine], agreement: ['AGREEMENT', agreementLine], entry: ['SIGNATURE', entryLine],
  proof: ['PROOF', proofLine], decision: ['DECISION', decisionLine], 'tlog-proof': ['LOG', logProofLine],
  checkpoint: ['LOG', line => openCheckpoint(line.text)], consistency: ['LOG', (line, at) => consistency.push({ line, at })],
  statement: ['STATEMENT', (line, at) => totalLine(line, at, 'STATEMENT')], invoice: ['INVOICE', (line, at) => totalLine(line, at, 'INVOICE')],
}

function readLine (bytes, at) {
  let line
  try { line = JSON.parse(utf8(bytes)) } catch { bad('FILE', 'the line is not JSON') }
  if (!isObject(line)) bad('FILE', 'the line is not an object')
  if (!head) {
    if (line.type !== 'uim-evidence' || line.version !== '1' || !text(line.issuer) || !text(line.agent)) bad('FILE', 'the file is not a bundle of version 1')
    head = line
    return
  }
  if (bytes.length > MAX_LINE && line.type !== 'policy' && line.type !== 'agreement') bad('FILE', 'the line is longer than 1 MiB')
  if (!Object.hasOwn(TYPES, line.type)) return skip('lines of unknown types')
  const [name, read] = TYPES[line.type]
  const call = line.type === 'proof' || line.type === 'decision'
  if (call && !text(line.execution)) bad(name, 'want the id of an execution')
  check(call ? line.execution : at, name, () => read(line, at))
}

async function read (file) {
  try {
    for await (const bytes of lines(file)) {
      if (++counts.lines > MAX_LINES) bad('FILE', 'the bundle has more than 1,000,000 lines')
      const at = 'line ' + counts.lines
      try { readLine(bytes, at) } catch (e) { problem(e instanceof Bad ? e.problem : 'FILE', at, e.message) }
      if (!head) return
      if (waiting > 512) await settled(128)
    }
    if (!head) problem('FILE', '', 'the bundle is empty')
  } catch (e) {
    if (e.syscall) throw e
    problem('FILE', 'line ' + (counts.lines + 1), e instanceof Bad ? e.message : 'the file is damaged or cut off: ' + e.message)
  }
}

const args = process.argv.slice(2), useOPA = args.includes('--opa'), policyAt = args.indexOf('--policy')
const files = args.filter((a, i) => a !== '--opa' && a !== '--policy' && (policyAt < 0 || i !== policyAt + 1))
try {
  if (files.length !== 1 || files[0].startsWith('-') || (policyAt >= 0 && !args[policyAt + 1])) {
    throw new Error('usage: verify.mjs FILE [--policy tlog-policy] [--opa]')
  }
  if (policyAt >= 0) readTrust(args[policyAt + 1])
  await read(files[0])
} catch (e) {
  console.error(e.message)
  process.exit(2)
}
if (head) {
  for (const a of accounts.values()) check(a.currency, 'SIGNATURE', () => finishAccount(a))
  finishExecutions()
  finishLog()
  for (const t of totals) check(t.at, t.kind, () => finishTotal(t))
  if (useOPA) decideAgain()
  else if (counts.decisions) skip('decisions, which --opa decides again', counts.decisions)
  await settled(0)
}
problems.sort((a, b) => compare(a.name, b.name) || compare(a.where, b.where) || compare(a.detail, b.detail))
const used = [...keys].map(([name, k]) => ({ purpose: name.split(' ')[0], kid: k.kid })).sort((a, b) => compare(a.purpose + a.kid, b.purpose + b.kid))
console.log(JSON.stringify({ ok: problems.length === 0, problems, more, ...counts, not_checked: notChecked, keys: used }, null, 1))
process.exitCode = problems.length === 0 ? 0 : 1
