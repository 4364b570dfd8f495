import { AssertionError } from 'node:assert';
import { inspect } from 'node:util';
import { AuthorizationError } from '../authorization-error.ts';

/** Values that the tests use as codes, states, verifiers, secrets and tokens. No error may contain them. */
export const canaries = {
  state: 'canary-state-5d0c',
  code: 'canary-code-8f1a',
  codeVerifier: 'canary-verifier-27b4-abcdefghijklmnopqrstuvwxyz-0123456789',
  nonce: 'canary-nonce-c3e9',
  clientSecret: 'canary-secret-41f7',
  accessToken: 'canary-access-token-9b2d',
  description: 'canary-description-f00d',
} as const;

/**
 * For tests: returns the error with which a promise fails. Throws if the promise resolves, if the error is not an
 * `AuthorizationError`, or if a canary appears when the error is printed at any depth.
 */
export async function failureOf(attempt: Promise<unknown> | (() => unknown), secrets: readonly string[] = []) {
  let error: unknown;
  try {
    await (typeof attempt === 'function' ? attempt() : attempt);
  } catch (thrown) {
    error = thrown;
  }
  if (!(error instanceof AuthorizationError)) {
    throw new AssertionError({ message: `expected an AuthorizationError, got ${String(error)}` });
  }
  const printed = inspect(error, { depth: 10, showHidden: true });
  for (const secret of [...Object.values(canaries), ...secrets]) {
    if (printed.includes(secret)) throw new AssertionError({ message: `the error shows ${secret}` });
  }
  return error;
}

/** For tests: returns the code of the error with which a promise fails. */
export async function failureCodeOf(attempt: Promise<unknown> | (() => unknown), secrets: readonly string[] = []) {
  return (await failureOf(attempt, secrets)).code;
}
