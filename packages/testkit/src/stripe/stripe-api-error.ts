/** An error in the format of Stripe's API. */
export class StripeApiError extends Error {
  override readonly name = 'StripeApiError';
  readonly status: number;
  readonly body: { readonly error: Readonly<Record<string, string>> };
  /** Whether the request had begun, so that its response is stored under its idempotency key. */
  readonly isStored: boolean;

  constructor(
    status: number,
    error: { readonly type: string; readonly code?: string; readonly param?: string; readonly message: string },
    isStored = false,
  ) {
    super(error.message);
    this.status = status;
    this.body = { error };
    this.isStored = isStored;
  }
}

export function invalidRequest(message: string, details: { code?: string; param?: string } = {}): StripeApiError {
  return new StripeApiError(400, { type: 'invalid_request_error', message, ...details });
}

export function missing(what: string, id: string): StripeApiError {
  return new StripeApiError(404, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    param: 'id',
    message: `No such ${what}: '${id}'`,
  });
}
