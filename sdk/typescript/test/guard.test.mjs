import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { AddressError, generateKey, UimClient } from "uimgate";

const { checkAddresses, guardedFetch } = await import(fileURLToPath(new URL("../dist/esm/guard.js", import.meta.url)));
const of = (...addresses) => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

for (const [host, addresses, refused] of [
  ["shop.example", ["93.184.216.34"], false],
  ["shop.example", ["2606:2800:220:1:248:1893:25c8:1946"], false],
  ["shop.example", ["93.184.216.34", "10.0.0.1"], true],
  ["shop.example", ["127.0.0.1"], true],
  ["shop.example", ["169.254.169.254"], true],
  ["shop.example", ["100.64.1.1"], true],
  ["shop.example", ["::1"], true],
  ["shop.example", ["fd00::1"], true],
  ["shop.example", ["fe80::1%eth0"], true],
  ["shop.example", ["::ffff:10.0.0.1"], true],
  ["shop.example", ["64:ff9b::a00:1"], true],
  ["localhost", ["127.0.0.1", "::1"], false],
  ["localhost", ["93.184.216.34"], true],
]) {
  test(`${host} with ${addresses} is ${refused ? "refused" : "accepted"}`, () => {
    const check = () => checkAddresses(host, of(...addresses));
    if (refused) assert.throws(check, AddressError);
    else check();
  });
}

test("a name with an address of this machine gets no request, and localhost does", async () => {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(request.headers.host);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  let asked = 0;
  const guarded = guardedFetch(async () => {
    asked++;
    return of("127.0.0.1");
  });
  const failure = await guarded(`http://shop.example:${port}/`).catch((error) => error);
  assert.ok(failure.cause instanceof AddressError, String(failure));
  await assert.rejects(UimClient.discover(`https://shop.example:${port}`, { key: await generateKey(), fetch: guarded, locate: async () => [] }), (e) =>
    /not on the public internet/.test(e.message),
  );
  assert.deepEqual(seen, []);
  assert.equal(await (await guarded(`http://localhost:${port}/`)).text(), "{}");
  assert.deepEqual([asked >= 3, seen], [true, [`localhost:${port}`]]);
  server.close();
  server.closeAllConnections();
});
