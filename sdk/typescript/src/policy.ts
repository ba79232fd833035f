import { ResponseError } from "./errors.js";
import { isObject, type JsonObject, parseObject } from "./json.js";
import { type Price, priceOf } from "./price.js";
import { policyDigest } from "./sign.js";

/** Maximum size of a policy, in bytes. */
export const MAX_POLICY = 1 << 20;

/** The terms that a service offers: an ODRL document. */
export class Policy {
  private constructor(
    /** uid of the document; empty if it has none. */
    readonly uid: string,
    /** The digest of the canonical form, with the prefix sha-256:. Pass it to agree(). */
    readonly digest: string,
    /** The document exactly as served. */
    readonly text: string,
    readonly document: JsonObject,
    readonly url: string,
    private readonly sentences: (policy: Policy) => Promise<string>,
  ) {}

  /** Reads a policy. It throws a ResponseError if the document is not JSON that has a canonical form. */
  static async read(text: string, url: string, sentences: (policy: Policy) => Promise<string>): Promise<Policy> {
    let document: JsonObject;
    try {
      document = parseObject(text);
    } catch (error) {
      throw new ResponseError(`the policy at ${new URL(url).origin} cannot be read: ${(error as Error).message}`, false);
    }
    return new Policy(uidOf(document), await policyDigest(document), text, document, url, sentences);
  }

  /** Returns the meaning of the policy in the words of the service, for people to read. */
  explain(): Promise<string> {
    return this.sentences(this);
  }

  /** Returns the maximum price of a call under this policy; unknown if this package cannot read it. */
  priceOf(intent: string): Price {
    return priceOf(this.document, intent);
  }
}

function uidOf(document: JsonObject): string {
  for (const name of ["uid", "@id", "id", "odrl:uid"]) {
    const value = document[name];
    if (typeof value === "string") return value;
    if (isObject(value) && typeof value["@id"] === "string") return value["@id"];
  }
  return "";
}
