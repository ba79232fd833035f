/** The deepest nesting of arrays and objects that services accept. A scalar at the top has depth 0. */
const MAX_DEPTH = 64;

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** An object of JSON. */
export type JsonObject = { [name: string]: Json };

/** A text is not JSON, or not JSON that has a canonical form (RFC 8785). */
export class JsonError extends Error {
  override name = "JsonError";
}

/** The options of parseJson. */
export interface ParseOptions {
  /** Converts the text of a number. The default is the number itself, which must have the value of its text. */
  number?: (text: string) => Json;
}

/**
 * Parses JSON that has one meaning (I-JSON, RFC 7493): no member twice, no lone surrogate, no number that a JavaScript number changes, and
 * at most 64 levels. JSON.parse accepts all of these, and two readers of one policy could then agree to different terms.
 */
export function parseJson(text: string, options: ParseOptions = {}): Json {
  const reader = new Reader(text, options.number ?? exactNumber);
  const value = reader.value(0);
  reader.space();
  if (reader.at < text.length) throw reader.error("text after the value");
  return value;
}

/** Parses JSON whose value is an object. */
export function parseObject(text: string, options: ParseOptions = {}): JsonObject {
  const value = parseJson(text, options);
  if (!isObject(value)) throw new JsonError("the document is not a JSON object");
  return value;
}

/** Reports whether a value is an object of JSON. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a value as a list: a list unchanged, null and undefined as an empty list, and any other value as a list with one element. */
export function listOf(value: Json | undefined): Json[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES: Record<string, string> = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

class Reader {
  at = 0;
  constructor(
    readonly text: string,
    readonly number: (text: string) => Json,
  ) {}

  error(what: string): JsonError {
    return new JsonError(`invalid JSON at character ${this.at}: ${what}`);
  }

  space(): void {
    for (; this.at < this.text.length; this.at++) {
      const c = this.text.charCodeAt(this.at);
      if (c !== 0x20 && c !== 0x0a && c !== 0x0d && c !== 0x09) return;
    }
  }

  value(depth: number): Json {
    this.space();
    switch (this.text[this.at]) {
      case "{":
        return this.object(depth + 1);
      case "[":
        return this.list(depth + 1);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.match(NUMBER, "a value is missing", (text) => this.number(text));
    }
  }

  word<T extends Json>(text: string, value: T): T {
    if (!this.text.startsWith(text, this.at)) throw this.error("a value is missing");
    this.at += text.length;
    return value;
  }

  match<T>(pattern: RegExp, missing: string, make: (text: string) => T): T {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) throw this.error(missing);
    const value = make(found);
    this.at += found.length;
    return value;
  }

  object(depth: number): JsonObject {
    const out: JsonObject = Object.create(null) as JsonObject;
    this.items(depth, "}", () => {
      this.space();
      if (this.text[this.at] !== '"') throw this.error("the name of a member is missing");
      const name = this.string();
      if (name in out) throw this.error("a member occurs twice");
      this.space();
      if (this.text[this.at] !== ":") throw this.error("a colon is missing");
      this.at++;
      out[name] = this.value(depth);
    });
    return out;
  }

  list(depth: number): Json[] {
    const out: Json[] = [];
    this.items(depth, "]", () => out.push(this.value(depth)));
    return out;
  }

  items(depth: number, end: string, read: () => void): void {
    if (depth > MAX_DEPTH) throw this.error(`nested deeper than ${MAX_DEPTH} levels`);
    this.at++;
    this.space();
    if (this.text[this.at] === end) {
      this.at++;
      return;
    }
    for (;;) {
      read();
      this.space();
      const c = this.text[this.at++];
      if (c === end) return;
      if (c !== ",") {
        this.at--;
        throw this.error(`"," or "${end}" is missing`);
      }
    }
  }

  string(): string {
    let out = "";
    this.at++;
    for (;;) {
      out += this.match(PLAIN, "a string is not closed", (text) => text);
      const c = this.text[this.at];
      if (c === '"') break;
      if (c !== "\\") throw this.error("a string is not closed, or contains a control character");
      out += this.escape();
    }
    this.at++;
    if (!wellFormed(out)) throw this.error("a string contains half of a surrogate pair");
    if (out.includes("\0")) throw this.error("a string contains U+0000");
    return out;
  }

  escape(): string {
    const c = this.text[this.at + 1] ?? "";
    if (c === "u") {
      const digits = this.text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.error("an escape needs four hexadecimal digits");
      this.at += 6;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const plain = ESCAPES[c];
    if (plain === undefined) throw this.error("an unknown escape");
    this.at += 2;
    return plain;
  }
}

function wellFormed(text: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);
}

function exactNumber(text: string): number {
  const value = Number(text);
  if (!/[eE]/.test(text) && text.replace(/\D/g, "").length <= 15) return value;
  if (!Number.isFinite(value) || decimal(text) !== decimal(String(value))) {
    throw new JsonError("a number has more digits than a JavaScript number keeps: write it as a string");
  }
  return value;
}

/** decimal returns the same string for all forms of a decimal number. */
function decimal(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  if (short === "") return "0";
  return `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}

/** Returns the canonical form of a value (RFC 8785). The value must be a result of parseJson or plainJson. */
export function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const names = Object.keys(value).sort(); // by UTF-16 units, RFC 8785 3.2.3
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name] as Json)}`).join(",")}}`;
}

/**
 * Returns a value of a program as JSON.stringify would write it: toJSON is called, and members that are undefined or functions are left
 * out. It throws a JsonError for what has no form in JSON, or would change: NaN, infinities, bigint, U+0000, lone surrogates, and more than
 * 64 levels.
 */
export function plainJson(value: unknown, depth = 0): Json {
  const from = value as { toJSON?: () => unknown } | null | undefined;
  if (typeof from === "object" && from !== null && typeof from.toJSON === "function") value = from.toJSON();
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      if (!wellFormed(value) || value.includes("\0")) throw new JsonError("a string contains half of a surrogate pair, or U+0000");
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new JsonError("a number is not finite");
      return value;
    case "object":
      break;
    default:
      throw new JsonError(`a ${typeof value} has no form in JSON`);
  }
  if (value === null) return null;
  if (depth >= MAX_DEPTH) throw new JsonError(`nested deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) return value.map((item) => plainJson(item ?? null, depth + 1));
  const out: JsonObject = Object.create(null) as JsonObject;
  for (const [name, member] of Object.entries(value as object)) {
    if (member === undefined || typeof member === "function") continue;
    if (!wellFormed(name) || name.includes("\0")) throw new JsonError("a name contains half of a surrogate pair, or U+0000");
    out[name] = plainJson(member, depth + 1);
  }
  return out;
}
