import {
  type ConnectionId,
  type CredentialId,
  type ElicitationId,
  parseConnectionId,
  parseCredentialId,
  parseElicitationId,
  type StorageQuota,
  shareOf,
  UnknownRecordLayoutError,
} from '@postern/elicitation';
import { z } from 'zod';
import { isAbsent, numberOf, textOf } from './script.ts';

/**
 * Version of the opaque part of stored records, which is JSON. Values that scripts compare have separate fields; both parts
 * together are the record. A record of another layout is refused and never guessed at, because two releases can share one Redis.
 */
const RECORD_LAYOUT = 1;

export const text = z.string();
/** In one language that is not named, or in several. */
export const localText = z.union([text, z.record(text, text)]);
/** Epoch milliseconds. */
export const time = z.int();
export const subject = z.object({ issuer: text, subject: text });
export const elicitationId = z.custom<ElicitationId>(value => parseElicitationId(String(value)) !== undefined);
export const connectionId = z.custom<ConnectionId>(value => parseConnectionId(String(value)) !== undefined);
export const credentialId = z.custom<CredentialId>(value => parseCredentialId(String(value)) !== undefined);
/** The last user of a record, and the time. */
export const lastUse = z.object({ mcpServerId: text, tool: text.optional(), at: time });

export function encode(record: object): string {
  return JSON.stringify({ layout: RECORD_LAYOUT, ...record });
}

/** @throws DomainError `unknown_record_layout` */
export function decode<T>(
  schema: z.ZodType<T>,
  json: string,
  shape: (record: Record<string, unknown>) => unknown = record => record,
): T {
  const record = recordIn(json);
  if (record['layout'] !== RECORD_LAYOUT) throw unreadable(record['layout']);
  const parsed = schema.safeParse(shape(record));
  if (!parsed.success) throw unreadable(record['layout']);
  return parsed.data;
}

/** @throws DomainError `unknown_record_layout` */
function recordIn(json: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(json) as object) };
  } catch {
    throw unreadable(layoutNamedIn(json));
  }
}

/** Omits the parser's error, which could quote the stored value. */
export const unreadable = (layout?: unknown) =>
  new UnknownRecordLayoutError(Number.isSafeInteger(layout) ? Number(layout) : undefined);

/** Also reads the layout of a record whose other members this release does not know. */
export function layoutNamedIn(json: string): number | undefined {
  const named = /"layout":(\d{1,9})\b/.exec(json)?.[1];
  return named === undefined ? undefined : Number(named);
}

/** Reads `<at> <rest>`, the format of last events. */
export function timed(value: string, read: (rest: string) => object): object {
  const space = value.indexOf(' ');
  return { ...read(value.slice(space + 1)), at: Number(value.slice(0, space)) };
}

/** Equal uses have equal texts. */
export function encodeUse({ mcpServerId, tool }: { readonly mcpServerId: string; readonly tool?: string }): string {
  return JSON.stringify({ mcpServerId, tool });
}

/** The quota of a shard, as `<records> <bytes>`. */
export function shareText(quota: StorageQuota): string {
  const { records, bytes } = shareOf(quota);
  return `${records} ${bytes}`;
}

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
