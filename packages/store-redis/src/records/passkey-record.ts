import { isSameSubject, type NewPasskey, type Passkey, RECORD_LAYOUT, type Subject } from '@postern/elicitation';
import { z } from 'zod';
import { decode, layout, subject, text, time, unreadable } from './record-layout.ts';

const passkeySchema = z.object({
  layout,
  passkeyId: text,
  subject,
  publicKey: text,
  signCount: z.int().nonnegative(),
  transports: z.array(text),
  backedUp: z.boolean(),
  label: text,
  createdAt: time,
  lastUsedAt: time.exactOptional(),
}) satisfies z.ZodType<Passkey>;

/** `<signCount> <backedUp> <createdAt> <lastUsedAt> <written by> <record>`, as the scripts write it; 0 for no use yet. */
const STORED = /^(\d+) ([01]) (\d+) (\d+) \S+ (.*)$/s;

/** Everything of a passkey that no script looks at. */
export function encodePasskey({ subject, publicKey, transports, label }: NewPasskey): string {
  return JSON.stringify({ layout: RECORD_LAYOUT, subject, publicKey, transports, label });
}

/** @throws DomainError `unknown_record_layout` */
export function decodePasskey(person: Subject, passkeyId: string, stored: string): Passkey {
  const [, signCount, backedUp, createdAt, lastUsedAt, json] = STORED.exec(stored) ?? [];
  if (json === undefined) throw unreadable();
  const passkey = decode(passkeySchema, json, record => ({
    ...record,
    passkeyId,
    signCount: Number(signCount),
    backedUp: backedUp === '1',
    createdAt: Number(createdAt),
    ...(lastUsedAt === '0' ? {} : { lastUsedAt: Number(lastUsedAt) }),
  }));
  // Its place says whose it is. A record that says otherwise was put there by somebody else than us.
  if (!isSameSubject(passkey.subject, person)) throw unreadable();
  return passkey;
}
