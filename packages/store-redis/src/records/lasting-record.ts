import type { z } from 'zod';
import { isAbsent, numberOf, textOf } from '../reply.ts';
import { decode, recordIn, timed } from './record-layout.ts';

/** Of a connection or a credential, in the order in which scripts return them. A credential is never `lost`. */
export const LASTING_FIELDS = ['generation', 'createdAt', 'updatedAt', 'record', 'lost', 'lastUse'] as const;

/** Reads `LASTING_FIELDS`. @param id the member that names the record @throws DomainError `unknown_record_layout` */
export function decodeLasting<T>(schema: z.ZodType<T>, id: object, found: readonly unknown[]): T {
  const [generation, createdAt, updatedAt, json, lost, lastUse] = found;
  return decode(schema, textOf(json), record => ({
    ...record,
    ...id,
    generation: numberOf(generation),
    createdAt: numberOf(createdAt),
    updatedAt: numberOf(updatedAt),
    ...(isAbsent(lost) ? {} : { lost: timed(textOf(lost), reason => ({ reason })) }),
    ...(isAbsent(lastUse) ? {} : { lastUse: timed(textOf(lastUse), recordIn) }),
  }));
}
