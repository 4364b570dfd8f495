import canonicalize from 'canonicalize';
import { digestOf } from './ids.ts';
import type { AuthorizationRequest, ElicitationRequest } from './requests.ts';

type AskedOnceRequest = Exclude<ElicitationRequest, AuthorizationRequest>;
type WithoutDigest<R> = R extends unknown ? Omit<R, 'digest'> : never;

/** A request without its digest. */
export type UndigestedRequest = WithoutDigest<AskedOnceRequest>;

/**
 * Returns the digest of a request: SHA-256 (base64url) of its canonical JSON (RFC 8785). It covers everything that the page shows and
 * that an answer refers to, in every language. It omits the processor of a payment with the payee's account there, and the rejected
 * generation of a credential.
 */
export function askDigest(request: UndigestedRequest): string {
  const canonical = canonicalize(essenceOf(request));
  if (canonical === undefined) throw new TypeError('A request is an object.');
  return digestOf(canonical);
}

function essenceOf(request: UndigestedRequest): object {
  switch (request.kind) {
    case 'payment':
    case 'confirmation': {
      const { kind, terms } = request;
      return { kind, terms };
    }
    case 'credential': {
      const { kind, name, title, fields, retention } = request;
      return { kind, name, title, fields, retention };
    }
    case 'form': {
      const { kind, title, requestedSchema, texts, secretFields } = request;
      return { kind, title, requestedSchema, texts, secretFields };
    }
  }
}

/**
 * Whether `shown` is the digest of this request. Recomputed from the request, because a stored digest alone would also match
 * terms that were changed in the store afterwards.
 */
export function isShownBy(shown: string, request: AskedOnceRequest): boolean {
  return shown === request.digest && shown === askDigest(request);
}
