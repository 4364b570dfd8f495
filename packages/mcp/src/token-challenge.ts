/** One parameter of an authentication challenge (RFC 9110 section 11.2); a quoted value is read as a whole. */
const PARAMETER = /(?<![\w-])([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g;

/**
 * Errors that another token of the same kind would not fix: RFC 6750 section 3.1, RFC 9449 sections
 * 7.1 and 9, RFC 9470 section 3.
 */
const NOT_THE_TOKENS_FAULT = new Set([
  'invalid_request',
  'insufficient_scope',
  'invalid_dpop_proof',
  'use_dpop_nonce',
  'insufficient_user_authentication',
]);

/** NQCHAR of RFC 9449 section 8.1. */
const NONCE = /^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/;

/** Whether the API rejected the access token. A 401 without a reason counts as a rejection. */
export function isTokenRejected(response: Response): boolean {
  if (response.status !== 401) return false;
  const errors = errorsOf(response);
  return errors.length === 0 || !errors.every(error => NOT_THE_TOKENS_FAULT.has(error));
}

/** RFC 9449 section 9: the API requires the nonce of this response in the proof. */
export function asksForNonce(response: Response): boolean {
  return response.status === 401 && errorsOf(response).includes('use_dpop_nonce');
}

/** Returns the nonce for the next proof. Ignores an invalid nonce. */
export function nonceOf(response: Response): string | undefined {
  const nonce = response.headers.get('dpop-nonce');
  return nonce !== null && NONCE.test(nonce) ? nonce : undefined;
}

function errorsOf(response: Response): string[] {
  const challenges = response.headers.get('www-authenticate') ?? '';
  return [...challenges.matchAll(PARAMETER)].flatMap(([, name, quoted, plain]) =>
    name?.toLowerCase() === 'error' ? [quoted ?? plain ?? ''] : [],
  );
}
