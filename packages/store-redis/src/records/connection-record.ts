import { type Connection, lossReasons, type NewConnection, RECORD_LAYOUT } from '@postern/elicitation';
import { z } from 'zod';
import {
  connectionId,
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

const connectionSchema = z.object({
  layout,
  connectionId,
  generation: z.int(),
  owner: text,
  subject,
  provider: text,
  resource: text.exactOptional(),
  scopes: z.array(text),
  account: z.object({ id: text, name: text.exactOptional() }).exactOptional(),
  sealedTokens: text,
  accessTokenExpiresAt: time.exactOptional(),
  // What was stored before anything could be refreshed cannot be.
  refreshable: z.boolean().default(false),
  lost: z.object({ reason: z.enum(lossReasons), at: time }).exactOptional(),
  lastUse: lastUse.exactOptional(),
  elicitationId,
  createdAt: time,
  updatedAt: time,
}) satisfies z.ZodType<Connection>;

/** Everything of a connection that no script looks at. */
export function encodeConnection(of: NewConnection): string {
  const { owner, subject, provider, resource, scopes, account, sealedTokens } = of;
  const { accessTokenExpiresAt, refreshable, elicitationId } = of;
  const whose = { owner, subject, provider, resource };
  const tokens = { scopes, account, sealedTokens, accessTokenExpiresAt, refreshable };
  return JSON.stringify({ ...whose, ...tokens, elicitationId, layout: RECORD_LAYOUT });
}

/** @throws DomainError `unknown_record_layout` */
export function decodeConnection(
  json: string,
  fields: Pick<Connection, 'connectionId' | 'generation' | 'createdAt' | 'updatedAt'> & {
    /** `<at> <reason>` */
    readonly lost?: string;
    /** `<at> <use>`, see `encodeUse`. */
    readonly lastUse?: string;
  },
): Connection {
  const { lost, lastUse, ...plain } = fields;
  return decode(connectionSchema, json, record => ({
    ...record,
    ...plain,
    ...(lost === undefined ? {} : { lost: timed(lost, reason => ({ reason })) }),
    ...(lastUse === undefined ? {} : { lastUse: timed(lastUse, recordIn) }),
  }));
}
