import assert from "node:assert/strict";
import { test } from "node:test";
import { canonical, executeDigest, importKey, parseAmount, parseJson, parseLimit, policyDigest, renewDigest, showAmount } from "uimgate";

// The worked example of docs/protocols/uim.md. The key is that of RFC 8037, appendix A.
const key = await importKey({
  kty: "OKP",
  crv: "Ed25519",
  d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
});

test("reproduces the worked example of the protocol", async () => {
  const { readFile } = await import("node:fs/promises");
  const page = await readFile(new URL("../../../docs/protocols/uim.md", import.meta.url), "utf8");
  const part = (name) => new RegExp("^```[a-z]+ " + name + "\\n([^]*?)\\n```$", "m").exec(page)[1];
  assert.equal(key.thumbprint, part("thumbprint"));
  const policy = parseJson(part("policy"));
  assert.equal(canonical(policy), part("policy-canonical"));
  assert.equal(await policyDigest(policy), part("policy-digest"));
  const call = parseJson(part("call"));
  assert.equal(canonical(call), part("call-canonical"));
  const digest = await executeDigest(call.intent_uid, call.parameters);
  assert.equal(digest, part("call-digest"));
  assert.equal(await renewDigest("example-pat-0001"), part("renew-digest"));
});

for (const [text, want] of [
  ["2.0", "2"],
  ["1e2", "100"],
  ["1E-7", "1e-7"],
  ["-0", "0"],
  ["0.1", "0.1"],
  ["1e21", "1e+21"],
  ["123456789012345680000", "123456789012345680000"],
  ['"\\u00e9\\/"', '"é/"'],
  ['"\\u20ac\\n\\u0007"', '"€\\n\\u0007"'],
  ['"\\ud83d\\ude00"', '"😀"'],
  ['{"10":1,"9":2}', '{"10":1,"9":2}'],
  ['{"\\ud83d\\ude00":1,"\\ufb33":2}', '{"😀":1,"\ufb33":2}'],
  [' { "b" : [ ] , "a" : { } } ', '{"a":{},"b":[]}'],
  ['{"__proto__":1}', '{"__proto__":1}'],
]) {
  test(`canonical form of ${text}`, () => assert.equal(canonical(parseJson(text)), want));
}

for (const text of [
  "",
  "{",
  "[1,]",
  '{"a":1,}',
  '{"a":1,"a":2}',
  '{"a":1,"\\u0061":2}',
  "01",
  "1.",
  ".5",
  "+1",
  "NaN",
  "'a'",
  '"\t"',
  '"\\x41"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  "9007199254740993",
  "0.1000000000000000055",
  "1e400",
  "1e-400",
  "1 2",
  "[".repeat(65) + "]".repeat(65),
  "tru",
  '{"a" 1}',
  '"abc',
]) {
  test(`${text.slice(0, 30) || "an empty text"} is rejected`, () => assert.throws(() => parseJson(text), { name: "JsonError" }));
}

test("64 levels are the deepest", () => assert.ok(parseJson("[".repeat(64) + "]".repeat(64))));

for (const [text, want] of [
  ["0.05 EUR", "0.05 EUR"],
  ["1 USD", "1.00 USD"],
  ["5e-1 EUR", "0.50 EUR"],
  ["0.123456789 EUR", "0.123456789 EUR"],
  [" 2.50  EUR ", "2.50 EUR"],
]) {
  test(`the amount ${text}`, () => assert.equal(showAmount(parseAmount(text)), want));
}
for (const text of ["", "1", "EUR", "-1 EUR", "1 eur", "1 EURO", "0.0000000001 EUR", "1000001 EUR", "1,5 EUR", "1 EUR x", "Infinity EUR"]) {
  test(`the amount "${text}" is rejected`, () => assert.throws(() => parseAmount(text), { name: "OptionsError" }));
}
for (const text of ["5 EUR", "5 EUR/year", "5/day", "-5 EUR/day", "5 EUR/day/day", ""]) {
  test(`the limit "${text}" is rejected`, () => assert.throws(() => parseLimit(text), { name: "OptionsError" }));
}
