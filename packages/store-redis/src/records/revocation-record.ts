import { type NewRevocation, RECORD_LAYOUT, type Revocation, type RevocationId } from '@postern/elicitation';
import { z } from 'zod';
import { decode, elicitationId, layout, subject, text } from './record-layout.ts';

/** What is moved here from a connection is its whole record; only what a revocation needs is read. */
const revocationSchema = z.object({
  layout,
  owner: text,
  subject,
  provider: text,
  resource: text.exactOptional(),
  account: z.object({ id: text, name: text.exactOptional() }).exactOptional(),
  elicitationId,
  sealedTokens: text,
});

/** The record a connection would leave behind, without what only a connection needs. */
export function encodeRevocation(of: NewRevocation): string {
  const { owner, subject, provider, resource, account, elicitationId, sealedTokens } = of;
  const whose = { owner, subject, provider, resource, account };
  return JSON.stringify({ ...whose, sealedTokens, elicitationId, layout: RECORD_LAYOUT });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeRevocation(
  json: string,
  fields: { readonly revocationId: RevocationId; readonly createdAt: number; readonly attempts: number },
): Revocation {
  const { layout: _, ...record } = decode(revocationSchema, json);
  return { ...record, ...fields };
}
