// The terms of policies are compared as the Go client compares them.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { parseJson } from "uimgate";

const inDist = (name) => import(fileURLToPath(new URL(`../dist/esm/${name}.js`, import.meta.url)));
const { sameTerms } = await inDist("terms");
const { readResult } = await inDist("result");
const table = JSON.parse(await readFile(new URL("../../../evidence/testdata/terms.json", import.meta.url), "utf8"));

/** A policy that cannot be read has no terms. */
function same(before, after) {
  try {
    return sameTerms(parseJson(before), parseJson(after), table.intent);
  } catch {
    return false;
  }
}

for (const { name, from, to, same: want } of table.cases) {
  test(`terms: ${name}`, () => {
    const other = table.policy.replace(from, () => to);
    assert.notEqual(other, table.policy);
    assert.deepEqual([same(table.policy, other), same(other, table.policy)], [want, want]);
  });
}

const DIGEST = `sha-256:${"A".repeat(43)}`;
const END = { at: new Date("2027-01-01T00:00:00Z") };
for (const [name, fields, want] of [
  ["no end", {}, undefined],
  ["not a date", { Sunset: "soon" }, undefined],
  ["an intent", { Sunset: "Fri, 01 Jan 2027 00:00:00 GMT" }, { ...END, terms: false, replacedBy: undefined, nextPolicy: undefined }],
  [
    "an intent with a successor",
    { Sunset: "Fri, 01 Jan 2027 00:00:00 GMT", Link: '<https://a.example/x>; rel="help", <https://shop.example/api/intents/shop.example:order:v2>; rel="successor-version"' },
    { ...END, terms: false, replacedBy: "shop.example:order:v2", nextPolicy: undefined },
  ],
  [
    "terms with a successor",
    { Sunset: "Fri, 01 Jan 2027 00:00:00 GMT", Deprecation: "@1790000000", Link: `<https://shop.example/api/policy?digest=${DIGEST}>; rel="successor-version"` },
    { ...END, terms: true, replacedBy: undefined, nextPolicy: DIGEST },
  ],
  [
    "a link that is not one",
    { Sunset: "Fri, 01 Jan 2027 00:00:00 GMT", Link: '<%%%/%zz>; rel="successor-version"' },
    { ...END, terms: false, replacedBy: undefined, nextPolicy: undefined },
  ],
  [
    "a path that is not the uid of an intent",
    { Sunset: "Fri, 01 Jan 2027 00:00:00 GMT", Link: '<https://shop.example/%zz>; rel="successor-version"' },
    { ...END, terms: false, replacedBy: undefined, nextPolicy: undefined },
  ],
]) {
  test(`sunset: ${name}`, () => {
    assert.deepEqual(readResult({ status: 200, headers: new Headers(fields), text: "{}" }).sunset, want);
  });
}
