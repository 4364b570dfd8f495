import canonicalize from 'canonicalize';
import { digestOf } from './ids.ts';
import type { AuthorizationRequest, ElicitationRequest } from './requests.ts';

type AskedOnceRequest = Exclude<ElicitationRequest, AuthorizationRequest>;
type WithoutDigest<R> = R extends unknown ? Omit<R, 'digest'> : never;

/** A request as it is before it has its digest. */
export type UndigestedRequest = WithoutDigest<AskedOnceRequest>;

/**
 * Names exactly what a person is asked: SHA-256 (base64url) of its canonical JSON (RFC 8785). In it is everything that the page
 * shows and that an answer means; not the processor of a payment, nor which values of a credential were turned away.
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
      const { kind, title, requestedSchema, secretFields } = request;
      return { kind, title, requestedSchema, secretFields };
    }
  }
}

/**
 * Whether a person who was shown what `shown` is the digest of has seen this request. Made anew from the request: a stored digest
 * alone would vouch for terms that somebody has changed in the store since.
 */
export function isShownBy(shown: string, request: AskedOnceRequest): boolean {
  return shown === request.digest && shown === askDigest(request);
}
