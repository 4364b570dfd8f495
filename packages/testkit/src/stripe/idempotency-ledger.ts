import { hash } from 'node:crypto';
import { StripeApiError } from './stripe-api-error.ts';

export interface StoredAnswer {
  readonly status: number;
  readonly body: string;
  readonly requestId: string;
}

/**
 * Idempotency keys as at Stripe. Once a request has begun, every later one gets its response, even a failure. Another body is an
 * error, and so is a second request while the first is in progress. A request refused before it began leaves the key free.
 * @see https://docs.stripe.com/api/idempotent_requests
 */
export class IdempotencyLedger {
  readonly #entries = new Map<string, { readonly request: string; answer?: StoredAnswer }>();

  /**
   * Reserves the key, unless its response is known.
   * @throws StripeApiError 409 or 400, `idempotency_error`
   */
  begin(key: string, request: { readonly path: string; readonly body: string }): StoredAnswer | undefined {
    const digest = hash('sha256', JSON.stringify([request.path, request.body]));
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#entries.set(key, { request: digest });
      return undefined;
    }
    if (entry.request !== digest) {
      throw new StripeApiError(400, {
        type: 'idempotency_error',
        message: 'Keys for idempotent requests can only be used with the same parameters they were first used with',
      });
    }
    if (entry.answer) return entry.answer;
    throw new StripeApiError(409, {
      type: 'idempotency_error',
      code: 'idempotency_key_in_use',
      message: 'There is currently another in-progress request using this idempotency key',
    });
  }

  store(key: string, answer: StoredAnswer): void {
    const entry = this.#entries.get(key);
    if (entry) entry.answer = answer;
  }

  /** Releases the key of a request that did not begin. */
  release(key: string): void {
    if (this.#entries.get(key)?.answer === undefined) this.#entries.delete(key);
  }

  /** Stripe forgets keys after a day at the earliest. */
  forgetAll(): void {
    this.#entries.clear();
  }
}
