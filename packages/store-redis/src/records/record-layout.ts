import {
  type ConnectionId,
  type CredentialId,
  type ElicitationId,
  parseConnectionId,
  parseCredentialId,
  parseElicitationId,
  RECORD_LAYOUT,
  UnknownRecordLayoutError,
} from '@postern/elicitation';
import { z } from 'zod';

/**
 * The opaque part of stored records: JSON with its layout version. Beside it, in fields of their own, stand the values
 * that scripts compare; both together are the record. A layout this release does not know is refused, never guessed at.
 *
 * A record is marked with the first layout in which its noun has this form. So only elicitations have a second one, and whatever
 * lasts can still be read by the release before.
 */

export const text = z.string();
/** Epoch milliseconds. */
export const time = z.int();
export const layout = z.literal(RECORD_LAYOUT);
export const subject = z.object({ issuer: text, subject: text });
export const elicitationId = z.custom<ElicitationId>(value => parseElicitationId(String(value)) !== undefined);
export const connectionId = z.custom<ConnectionId>(value => parseConnectionId(String(value)) !== undefined);
export const credentialId = z.custom<CredentialId>(value => parseCredentialId(String(value)) !== undefined);
/** Who used something last, and when. */
export const lastUse = z.object({ mcpServerId: text, tool: text.exactOptional(), at: time });

/** @throws DomainError `unknown_record_layout` */
export function decode<T>(
  schema: z.ZodType<T>,
  json: string,
  shape: (record: Record<string, unknown>) => unknown = record => record,
): T {
  const record = recordIn(json);
  const parsed = schema.safeParse(shape(record));
  if (!parsed.success) throw unreadable(record['layout']);
  return parsed.data;
}

/** @throws DomainError `unknown_record_layout` */
export function recordIn(json: string): Record<string, unknown> {
  try {
    return { ...(JSON.parse(json) as object) };
  } catch {
    throw unreadable(layoutNamedIn(json));
  }
}

/** Without the parser's own error: it could quote what is stored. */
export const unreadable = (layout?: unknown) =>
  new UnknownRecordLayoutError(Number.isSafeInteger(layout) ? Number(layout) : undefined);

/** Also of a record that goes on in a way this release does not know: its beginning says so much. */
export function layoutNamedIn(json: string): number | undefined {
  const named = /"layout":(\d{1,9})\b/.exec(json)?.[1];
  return named === undefined ? undefined : Number(named);
}

/** Reads `<at> <rest>`, as what happened last is kept. */
export function timed(value: string, read: (rest: string) => object): object {
  const space = value.indexOf(' ');
  return { ...read(value.slice(space + 1)), at: Number(value.slice(0, space)) };
}

/** The same use is the same text. */
export function encodeUse({ mcpServerId, tool }: { readonly mcpServerId: string; readonly tool?: string }): string {
  return JSON.stringify({ mcpServerId, tool });
}
