import { hash } from 'node:crypto';

/**
 * The idempotency key of one charge: whoever goes on with an approved payment, on whichever replica and however often, asks the
 * processor under this key. Another attempt at the same elicitation has another key.
 */
export function chargeKeyOf(elicitationId: string, attempt: string): string {
  return `postern-charge-${hash('sha256', JSON.stringify(['charge', elicitationId, attempt]), 'base64url')}`;
}
