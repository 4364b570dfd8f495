import { ProblemError } from '../http/problems.ts';
import { networksOf } from '../http/unknown-callers.ts';

const WINDOW_MS = 60_000;
/** A site has many networks of 64 bits: its 48 bits may fail this many times as often. */
const PER_SITE = 4;
/** Attempts of a network that may be under way at once, per failure that it may have: an office starts its day at one time. */
const PER_BURST = 4;
/** Networks from which a user has signed in. The latest ones are kept. */
const MAX_KNOWN = 10_000;
const KNOWN_MS = 24 * 3_600_000;

interface Counts {
  refused: number;
  succeeded: number;
  open: number;
}

interface Limits {
  readonly perAddress: number;
  readonly perProcess: number;
}

/**
 * Limits the attempts of strangers that cost a request to a third party, which refuses them. Beyond the limit of the process, networks
 * without many refusals may still try; beyond ten times that limit, only those from which somebody has succeeded within a day.
 */
export class FailedAttempts {
  readonly #limits: Limits;
  readonly #now: () => number;
  readonly #known = new Map<string, number>();
  #endsAt = 0;
  #counts = new Map<string, Counts>();
  #refused = 0;

  /** @param limits failures in one minute */
  constructor(limits: Limits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /**
   * Begins an attempt. @returns a function to call when it has ended: undefined if the third party was not asked
   * @throws ProblemError `rate_limited`
   */
  begin(address: string): (hasSucceeded: boolean | undefined) => void {
    const now = this.#now();
    if (now >= this.#endsAt) {
      // Attempts that are under way end in the counts in which they began.
      this.#counts = new Map();
      this.#refused = 0;
      this.#endsAt = now + WINDOW_MS;
    }
    const [network, site] = networksOf(address);
    const own = this.#countsOf(network);
    const around = site === network ? own : this.#countsOf(site);
    if (!this.#mayBegin(network, own, around))
      throw new ProblemError('rate_limited', { retryAfterMs: this.#endsAt - now });
    const counts = new Set([own, around]);
    for (const each of counts) each.open += 1;
    return hasSucceeded => {
      for (const each of counts) {
        each.open -= 1;
        if (hasSucceeded === true) each.succeeded += 1;
        if (hasSucceeded === false) each.refused += 1;
      }
      if (hasSucceeded === true) this.#note(network);
      if (hasSucceeded === false) this.#refused += 1;
    };
  }

  #countsOf(network: string): Counts {
    const known = this.#counts.get(network);
    if (known !== undefined) return known;
    const counts = { refused: 0, succeeded: 0, open: 0 };
    this.#counts.set(network, counts);
    return counts;
  }

  #mayBegin(network: string, own: Counts, around: Counts): boolean {
    const { perAddress, perProcess } = this.#limits;
    const isWithin = ({ refused, succeeded, open }: Counts, limit: number, burst = limit) =>
      // Behind one address of a carrier are strangers and people: their successes speak for it.
      refused < limit + 2 * succeeded && open < PER_BURST * burst;
    if (!isWithin(own, perAddress)) return false;
    // A stranger nearby must not refuse people who sign in every day.
    if (!isWithin(around, PER_SITE * perAddress)) return this.#isKnown(network);
    if (this.#refused < perProcess) return true;
    if (this.#refused >= 10 * perProcess) return this.#isKnown(network);
    return isWithin(own, perAddress / 10, perAddress) || this.#isKnown(network);
  }

  #note(network: string): void {
    this.#known.delete(network);
    this.#known.set(network, this.#now() + KNOWN_MS);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }

  #isKnown(network: string): boolean {
    return (this.#known.get(network) ?? 0) > this.#now();
  }
}
