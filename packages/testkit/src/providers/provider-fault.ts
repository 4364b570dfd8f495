import type { ProviderEndpoint } from './request-log.ts';

/** Trouble at one endpoint. */
export interface ProviderFault {
  readonly endpoint: ProviderEndpoint;
  /** Meets only requests with this `grant_type`. */
  readonly grantType?: string;
  /** How many requests it meets; default every one, until `clearFaults`. */
  readonly times?: number;
  /** Answer with this status instead of the real answer. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Never answer. */
  readonly hang?: boolean;
  /**
   * For `status` and `hang`: instead of handling the request (default), or after it has been handled with success, so
   * that the answer alone is lost. Requests that are refused anyway, such as the first one of a DPoP nonce challenge,
   * are not met in the second case.
   */
  readonly when?: 'before' | 'after';
  /** Break the connection off: before the request is handled, or after it was (whatever came of it). */
  readonly drop?: 'before' | 'after';
}

export interface FaultTarget {
  readonly endpoint: ProviderEndpoint;
  readonly grantType?: string | undefined;
}

/** The faults of one provider that are still to happen. */
export class FaultList {
  readonly #faults: { readonly fault: ProviderFault; left: number }[] = [];

  add(fault: ProviderFault): void {
    this.#faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** The fault that meets this request when it comes in, if any. */
  takeBefore(target: FaultTarget): ProviderFault | undefined {
    return this.#take(target, ({ when }) => when !== 'after');
  }

  /** The fault that meets the answer of this request, which was handled with success. */
  takeAfter(target: FaultTarget): ProviderFault | undefined {
    return this.#take(target, ({ when }) => when === 'after');
  }

  #take(target: FaultTarget, isIts: (fault: ProviderFault) => boolean): ProviderFault | undefined {
    const entry = this.#faults.find(
      ({ fault, left }) =>
        left > 0 &&
        fault.endpoint === target.endpoint &&
        (fault.grantType === undefined || fault.grantType === target.grantType) &&
        isIts(fault),
    );
    if (entry) entry.left -= 1;
    return entry?.fault;
  }
}
