import { type Credential, type NewCredential, RECORD_LAYOUT } from '@postern/elicitation';
import { z } from 'zod';
import {
  credentialId,
  decode,
  elicitationId,
  lastUse,
  layout,
  recordIn,
  subject,
  text,
  time,
  timed,
} from './record-layout.ts';

const credentialSchema = z.object({
  layout,
  credentialId,
  generation: z.int(),
  owner: text,
  subject,
  name: text,
  title: text,
  fields: z.array(text),
  sealedValues: text,
  elicitationId,
  lastUse: lastUse.exactOptional(),
  createdAt: time,
  updatedAt: time,
}) satisfies z.ZodType<Credential>;

/** Everything of a credential that no script looks at. */
export function encodeCredential(of: NewCredential): string {
  const { owner, subject, name, title, fields, sealedValues, elicitationId } = of;
  return JSON.stringify({
    ...{ owner, subject, name, title, fields, sealedValues, elicitationId },
    layout: RECORD_LAYOUT,
  });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeCredential(
  json: string,
  fields: Pick<Credential, 'credentialId' | 'generation' | 'createdAt' | 'updatedAt'> & {
    /** `<at> <use>`, see `encodeUse`. */
    readonly lastUse?: string;
  },
): Credential {
  const { lastUse, ...plain } = fields;
  return decode(credentialSchema, json, record => ({
    ...record,
    ...plain,
    ...(lastUse === undefined ? {} : { lastUse: timed(lastUse, recordIn) }),
  }));
}
