/** The longest wait that a client takes from a service, in seconds: a year. */
export const MAX_WAIT = 365 * 24 * 3600;

/** The state of one limit (draft-ietf-httpapi-ratelimit-headers). */
export interface Limit {
  /** Such as minute, hour, pat or service. */
  readonly name: string;
  /** Calls that are left. */
  readonly remaining: number;
  /** Seconds until the oldest call that counts will count no more; 0 if the service does not state it. */
  readonly reset: number;
  /** Calls in the whole window; 0 if the service does not state it. */
  readonly limit: number;
  /** Length of the window in seconds; 0 if the service does not state it. */
  readonly window: number;
}

/** The limits that a call counted under. */
export interface RateLimit {
  readonly limits: Limit[];
  /** The fewest calls that are left of any limit. */
  readonly remaining: number;
  /** Seconds until that limit has one call more. */
  readonly reset: number;
}

const ITEM = /\s*"([^"\\]{0,64})"((?:;[a-z]+=[0-9]{1,15})*)\s*(?:,|$)/y;

/** Parses the fields RateLimit and RateLimit-Policy. It returns undefined if there are none, or none that can be read. */
export function parseRateLimit(headers: Headers): RateLimit | undefined {
  const policies = new Map(items(headers.get("ratelimit-policy")));
  const limits = items(headers.get("ratelimit")).filter(([, of]) => of.has("r")).map(([name, of]) => ({
    name, remaining: of.get("r") ?? 0, reset: Math.min(of.get("t") ?? 0, MAX_WAIT),
    limit: policies.get(name)?.get("q") ?? 0, window: policies.get(name)?.get("w") ?? 0,
  }));
  const least = limits.reduce<Limit | undefined>((a, b) => (a && a.remaining <= b.remaining ? a : b), undefined);
  return least && { limits, remaining: least.remaining, reset: least.reset };
}

function items(field: string | null): [string, Map<string, number>][] {
  const out: [string, Map<string, number>][] = [];
  if (!field || field.length > 8192) return out;
  ITEM.lastIndex = 0;
  for (let found = ITEM.exec(field); found && out.length < 64; found = ITEM.exec(field)) {
    const parameters = (found[2] ?? "").split(";").filter(Boolean).map((p) => p.split("=") as [string, string]);
    out.push([found[1] ?? "", new Map(parameters.map(([name, n]) => [name, Number(n)]))]);
    if (ITEM.lastIndex >= field.length) break;
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
