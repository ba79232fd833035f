import { canonicalDigest, sha256, utf8 } from "./encoding.js";
import { isObject, parseJson, plainJson } from "./json.js";
import { type CheckedReceipt, KeySet, type ReceiptProblem } from "./receipt.js";
import { executeDigest } from "./sign.js";

/** What the holder of a receipt has kept of a call. Undefined members are not compared. */
export interface KeptCall {
  /** The intent and the parameters of the call; both or neither. */
  readonly intent?: string;
  readonly parameters?: object;
  /** The text of the output, unchanged: Result.text. */
  readonly text?: string;
}

/**
 * Verifies a receipt without a connection: its signature by a key of a JWKS, and that it is for the call and the output that its holder has
 * kept. The JWKS is that of the service (uim-jwks in agents.json), as the holder stored it at the agreement. The entry of the result has the
 * amount, the agent and the time, which the holder compares. Problems are SIGNATURE, KEY, REQUEST and ANSWER.
 */
export async function verifyReceipt(receipt: string, jwks: { readonly keys: readonly object[] }, call: KeptCall = {}): Promise<CheckedReceipt> {
  const keys = new KeySet();
  await keys.addAll(jwks.keys.map((key) => plainJson(key)).filter(isObject));
  const entry = await keys.verify("receipt", receipt);
  if (entry === "KEY") return failed("KEY", "the key of the receipt is not in the JWKS");
  if (entry === "SIGNATURE" || entry.v !== "uim-entry-1") return failed("SIGNATURE", "the signature of the receipt is not valid");
  const problems: ReceiptProblem[] = [];
  if (call.intent !== undefined) {
    const parameters = plainJson(call.parameters ?? {});
    if (!isObject(parameters) || entry.req !== `sha-256:${await executeDigest(call.intent, parameters)}`) {
      problems.push({ name: "REQUEST", detail: "the receipt is for a call with another intent or other parameters" });
    }
  }
  if (call.text !== undefined && entry.to === "captured" && entry.ans !== (await answerDigest(call.text, entry.ans_form))) {
    problems.push({ name: "ANSWER", detail: "the receipt is for another output" });
  }
  return { ok: problems.length === 0, problems, entry };
}

/** Returns the digest of an output in the form of the receipt; undefined if the output does not have this form. */
async function answerDigest(text: string, form: unknown): Promise<string | undefined> {
  if (form === undefined) return `sha-256:${await sha256(utf8(text))}`;
  if (form !== "jcs") return undefined;
  try {
    return `sha-256:${await canonicalDigest(parseJson(text))}`;
  } catch {
    return undefined;
  }
}

function failed(name: string, detail: string): CheckedReceipt {
  return { ok: false, problems: [{ name, detail }], entry: undefined };
}
