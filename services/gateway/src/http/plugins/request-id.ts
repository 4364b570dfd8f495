import { randomBytes } from 'node:crypto';

/** Our own, always: an id chosen by the caller would let him write into our log. */
export function requestIdOf(): string {
  return `rq_${randomBytes(12).toString('base64url')}`;
}
