/** A difference in milliseconds that is larger than any delay of a connection, and that makes agreements and proofs stale. */
const TOLERANCE = 60_000;

/**
 * The clock of a service, from its responses. The clock of the agent is used until the two differ by more than a minute, because agreements
 * and proofs must be within five minutes of the clock of the service.
 */
export class ServiceClock {
  #offset = 0;
  constructor(
    private readonly local: () => number,
    private readonly warn: (message: string) => void,
  ) {}

  /** Milliseconds since 1970. */
  now(): number {
    return this.local() + this.#offset;
  }

  /** Whole seconds since 1970. */
  seconds(): number {
    return Math.floor(this.now() / 1000);
  }

  /** Reads the time of a response (RFC 9110, section 6.6.1), and adds the Age of a cached response. */
  observe(headers: Headers): void {
    const date = Date.parse(headers.get("date") ?? "");
    const age = Number(headers.get("age") ?? 0);
    if (Number.isNaN(date) || !Number.isInteger(age) || age < 0) return;
    const offset = date + age * 1000 - this.local();
    if (Math.abs(offset - this.#offset) <= TOLERANCE) return;
    this.#offset = Math.abs(offset) <= TOLERANCE ? 0 : offset;
    if (this.#offset === 0) return;
    const minutes = Math.round(Math.abs(offset) / 60_000);
    this.warn(
      `the clock of this machine is ${minutes} minutes ${offset > 0 ? "behind" : "ahead of"} the clock of the service: ` +
        "its Date is used for agreements, proofs and renewals. Set the clock",
    );
  }
}
