import type { ProviderEndpoint } from './request-log.ts';

/** Trouble at one endpoint. */
export interface ProviderFault {
  readonly endpoint: ProviderEndpoint;
  /** How many requests it meets; default every one. */
  readonly times?: number;
  /** Answer with this status instead of handling the request. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Never answer. */
  readonly hang?: boolean;
  /** Break the connection off: before the request is handled, or after it was and before the answer is sent. */
  readonly drop?: 'before' | 'after';
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

  /** The fault that meets this request, if any. */
  take(endpoint: ProviderEndpoint): ProviderFault | undefined {
    const entry = this.#faults.find(({ fault, left }) => fault.endpoint === endpoint && left > 0);
    if (entry) entry.left -= 1;
    return entry?.fault;
  }
}
