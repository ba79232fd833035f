/** The longest wait that a client accepts from a service, in seconds: a year. */
export const MAX_WAIT = 365 * 24 * 3600;

/** The state of one limit (draft-ietf-httpapi-ratelimit-headers). */
export interface Limit {
  /** The name of the limit, such as minute, hour, pat or service. */
  readonly name: string;
  /** Number of calls that are left. */
  readonly remaining: number;
  /** Seconds until the oldest counted call leaves the window; 0 if the service does not state it. */
  readonly reset: number;
  /** Number of calls in the whole window; 0 if the service does not state it. */
  readonly limit: number;
  /** Length of the window in seconds; 0 if the service does not state it. */
  readonly window: number;
}

/** The limits that a call counted under. */
export interface RateLimit {
  readonly limits: Limit[];
  /** The smallest number of calls that any limit has left. */
  readonly remaining: number;
  /** Seconds until that limit admits one more call. */
  readonly reset: number;
}

const ITEM = /[ \t]*(?:"([^"\\]{0,64})"|([A-Za-z*][A-Za-z0-9_.*:/-]{0,63}))((?:;[ ]*[a-z]+(?:=[^;,"]{0,32})?)*)[ \t]*(?:,|$)/y;

/** Parses the fields RateLimit and RateLimit-Policy, or those of early drafts. It returns undefined if there are none that can be read. */
export function parseRateLimit(headers: Headers): RateLimit | undefined {
  const policies = new Map(items(headers.get("ratelimit-policy")));
  const count = (n: number | undefined): number => (n !== undefined && n > 0 ? n : 0);
  const limits = items(headers.get("ratelimit"))
    .filter(([, of]) => (of.get("r") ?? -1) >= 0)
    .map(([name, of]) => ({
      name,
      remaining: count(of.get("r")),
      reset: Math.min(count(of.get("t")), MAX_WAIT),
      limit: count(policies.get(name)?.get("q")),
      window: count(policies.get(name)?.get("w")),
    }));
  const least = limits.reduce<Limit | undefined>((a, b) => (a && a.remaining <= b.remaining ? a : b), undefined);
  return least
    ? { limits, remaining: least.remaining, reset: least.reset }
    : (separate(headers, "ratelimit-") ?? separate(headers, "x-ratelimit-"));
}

/** separate parses the three fields of early drafts. A reset of a billion and more is a time, compared with the response's own Date. */
function separate(headers: Headers, prefix: string): RateLimit | undefined {
  const number = (name: string): number => {
    const text = (headers.get(prefix + name) ?? "").split(/[;,]/)[0]?.trim() ?? "";
    return /^[0-9]{1,15}$/.test(text) ? Number(text) : -1;
  };
  const remaining = number("remaining");
  if (remaining < 0) return undefined;
  let reset = Math.max(number("reset"), 0);
  if (reset >= 1e9) reset = Math.max(0, reset - Date.parse(headers.get("date") ?? "") / 1000) || 0;
  reset = Math.min(reset, MAX_WAIT);
  return { limits: [{ name: "", remaining, reset, limit: Math.max(number("limit"), 0), window: 0 }], remaining, reset };
}

function items(field: string | null): [string, Map<string, number>][] {
  const out: [string, Map<string, number>][] = [];
  if (!field || field.length > 8192) return out;
  ITEM.lastIndex = 0;
  for (let at = 0; at < field.length; at = ITEM.lastIndex) {
    const found = ITEM.exec(field);
    if (!found || out.length === 64) return []; // not a list of strings or tokens (RFC 9651, section 3.1)
    const parameters = (found[3] ?? "").split(";").map((p) => p.trim().split("=") as [string, string?]);
    const whole = parameters.filter(([, n = ""]) => /^-?[0-9]{1,15}$/.test(n)).map(([name, n]) => [name, Number(n)] as const);
    out.push([found[1] ?? found[2] ?? "", new Map(whole)]);
  }
  return out;
}

/** Returns the seconds of Retry-After: a number, or a date that is compared with the response's own Date (RFC 9110, section 10.2.3). */
export function retryAfter(headers: Headers): number | undefined {
  const text = headers.get("retry-after")?.trim() ?? "";
  if (/^[0-9]{1,15}$/.test(text)) return Math.min(Number(text), MAX_WAIT);
  const wait = (Date.parse(text) - Date.parse(headers.get("date") ?? "")) / 1000;
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(0, wait), MAX_WAIT);
}
