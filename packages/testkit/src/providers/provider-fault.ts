import type { ProviderEndpoint } from './request-log.ts';

/** A fault at one endpoint. */
export interface ProviderFault {
  readonly endpoint: ProviderEndpoint;
  /** Affects only requests with this `grant_type`. */
  readonly grantType?: string;
  /** Affects only requests with this `token_type_hint`. */
  readonly tokenTypeHint?: 'access_token' | 'refresh_token';
  /** Number of requests that it affects. Default: all, until `clearFaults`. */
  readonly times?: number;
  /** Replaces the response by one with this status. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends no response. */
  readonly hang?: boolean;
  /**
   * For `status` and `hang`. `before` (default): the provider does not handle the request. `after`: the provider handles it and
   * only the response is lost; refused requests, such as the first one of a DPoP nonce challenge, are not affected.
   */
  readonly when?: 'before' | 'after';
  /** Breaks the connection before or after the provider handles the request, successful or not. */
  readonly drop?: 'before' | 'after';
}

export interface FaultTarget {
  readonly endpoint: ProviderEndpoint;
  readonly grantType?: string | undefined;
  readonly tokenTypeHint?: string | undefined;
}

/** The pending faults of one provider. */
export class FaultList {
  readonly #faults: { readonly fault: ProviderFault; left: number }[] = [];

  add(fault: ProviderFault): void {
    this.#faults.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#faults.length = 0;
  }

  /** Returns the fault, if any, that affects this request when it arrives. */
  takeBefore(target: FaultTarget): ProviderFault | undefined {
    return this.#take(target, ({ when }) => when !== 'after');
  }

  /** Returns the fault, if any, that affects the response of this successful request. */
  takeAfter(target: FaultTarget): ProviderFault | undefined {
    return this.#take(target, ({ when }) => when === 'after');
  }

  #take(target: FaultTarget, isIts: (fault: ProviderFault) => boolean): ProviderFault | undefined {
    const entry = this.#faults.find(
      ({ fault, left }) =>
        left > 0 &&
        fault.endpoint === target.endpoint &&
        (fault.grantType === undefined || fault.grantType === target.grantType) &&
        (fault.tokenTypeHint === undefined || fault.tokenTypeHint === target.tokenTypeHint) &&
        isIts(fault),
    );
    if (entry) entry.left -= 1;
    return entry?.fault;
  }
}
