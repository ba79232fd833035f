// An agent as the guides describe it, for Node: it signs JSON.stringify(policy) with an RSA key of its
// own and sends the signature in hex with its key as PEM. Usage: guide_agent.mjs BASE_URL UID PARAMETERS.
import { createSign, generateKeyPairSync } from 'node:crypto';

const [base, uid, parameters] = process.argv.slice(2);
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

const call = async (url, body, token) => {
  const answer = await fetch(url, body && {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  });
  const json = await answer.json();
  if (!answer.ok) throw new Error(`${answer.status} ${JSON.stringify(json)}`);
  return json;
};

const agents = await call(`${base}/agents.json`);
const policy = await call(agents['uim-policy-file']);
const { 'uim-pat': pat } = await call(`${base}/pat/issue`, {
  agent_id: 'node-guide-agent',
  signed_policy: createSign('sha256').update(JSON.stringify(policy)).sign(privateKey, 'hex'),
  agent_public_key: publicKey.export({ type: 'spki', format: 'pem' }),
});
console.log(JSON.stringify(await call(agents['uim-api-execute'], { intent_uid: uid, parameters: JSON.parse(parameters) }, pat)));
