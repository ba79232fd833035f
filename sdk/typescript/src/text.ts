const MAX_TEXT = 500;

/** Makes a string from a service safe to print: one line of at most 500 characters, without control and formatting characters. */
export function clean(value: unknown): string {
  if (typeof value !== "string") return "";
  const line = value
    .slice(0, 8 * MAX_TEXT)
    .replace(/[\s\p{C}\u2028\u2029]+/gu, " ")
    .trim();
  const characters = [...line];
  return characters.length > MAX_TEXT ? `${characters.slice(0, MAX_TEXT).join("")}…` : line;
}

/** Returns a string in the form of a code, such as a reason: at most 64 of A-Z a-z 0-9 _ -. Otherwise it returns "". */
export function codeName(value: unknown): string {
  return typeof value === "string" && /^[A-Za-z0-9_-]{1,64}$/.test(value) ? value : "";
}

/** Returns a string in the form of an id: at most 64 of A-Z a-z 0-9 . _ -. Otherwise it returns "". */
export function identifier(value: unknown): string {
  return typeof value === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(value) ? value : "";
}

/** Reports whether a string is the digest of a policy: sha-256: and 43 characters of base64url. */
export function isDigest(value: unknown): value is string {
  return typeof value === "string" && /^sha-256:[A-Za-z0-9_-]{43}$/.test(value);
}
