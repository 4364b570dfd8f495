import { z } from 'zod';

export const operations = [
  'issue',
  'read',
  'cancel',
  'redeem',
  'access_token',
  'connections',
  'disconnect',
  'sign_in',
  'open',
  'accept',
  'decline',
  'callback',
] as const;
export type Operation = (typeof operations)[number];

const common = {
  /** Milliseconds since the start of the run, by a monotonic clock. */
  at: z.number(),
  /** `mcp:tracker`, `person:person-3`, `gateway:a`, `provider`, `harness`. */
  who: z.string(),
};
const fact = z.string();

const request = z.strictObject({
  ...common,
  what: z.literal('request'),
  /** Connects a request with its response. */
  call: z.number(),
  op: z.enum(operations),
  /** The requested address. */
  to: z.string(),
  elicitationId: fact.optional(),
  idempotencyKey: fact.optional(),
  kind: fact.optional(),
  /** The subject of an issued elicitation. */
  subject: fact.optional(),
  connectionId: fact.optional(),
});

const response = z.strictObject({
  ...common,
  what: z.literal('response'),
  call: z.number(),
  /** HTTP status. Absent: no response arrived. */
  http: z.number().optional(),
  /** Of a refusal, or of a network error. */
  code: fact.optional(),
  elicitationId: fact.optional(),
  /** Status of the elicitation in the response. */
  status: fact.optional(),
  /** Digest of the outcome in the response. */
  outcome: fact.optional(),
  /** The page shows the elicitation to this reader. */
  shown: z.boolean().optional(),
});

const announcement = {
  mcpServerId: fact,
  eventId: fact,
  elicitationId: fact,
  kind: fact,
  status: fact,
};

const event = z.strictObject({ ...common, what: z.literal('event'), position: fact, ...announcement });
const delivery = z.strictObject({
  ...common,
  what: z.literal('delivery'),
  answered: z.number().optional(),
  ...announcement,
});

/** From now on every end of this MCP server's elicitations must appear on this channel: `events`, or a webhook receiver. */
const channel = z.strictObject({ ...common, what: z.literal('channel'), mcpServerId: fact, channel: fact });

/** The provider issued tokens for a code, recorded once per code. */
const tokenIssued = z.strictObject({
  ...common,
  what: z.literal('token_issued'),
  grantId: fact,
  account: fact,
});
/** The gateway returned an access token, with its origin. */
const tokenSet = z.strictObject({
  ...common,
  what: z.literal('token_set'),
  elicitationId: fact,
  connectionId: fact,
  grantId: fact,
  /** The code exchange that the token comes from. A provider may use the same grant for several. */
  exchange: fact,
  /** The account of the grant, according to the provider. */
  account: fact,
  /** The account that it must be. */
  expectedAccount: fact,
});
const connections = z.strictObject({
  ...common,
  what: z.literal('connections'),
  mcpServerId: fact,
  subject: fact,
  list: z.array(z.strictObject({ connectionId: fact, provider: fact, account: fact.optional() })),
});
/** A recorded approval: a receipt, by its digest. */
const approval = z.strictObject({ ...common, what: z.literal('approval'), elicitationId: fact, approval: fact });
const charge = z.strictObject({ ...common, what: z.literal('charge'), elicitationId: fact, charge: fact });
/** A single-use operation: a redemption under this name. */
const effect = z.strictObject({ ...common, what: z.literal('effect'), elicitationId: fact, effect: fact });
const fault = z.strictObject({ ...common, what: z.literal('fault'), fault: fact, target: fact.optional() });
/** The final status of an elicitation, read from one replica. */
const final = z.strictObject({
  ...common,
  what: z.literal('final'),
  replica: fact,
  mcpServerId: fact,
  elicitationId: fact,
  http: z.number(),
  status: fact.optional(),
  outcome: fact.optional(),
});
/** A secret was found where it must not be. */
const leak = z.strictObject({ ...common, what: z.literal('leak'), where: fact, secret: fact });
/** A documented loss: counted, no failure. */
const tolerated = z.strictObject({
  ...common,
  what: z.literal('tolerated'),
  invariants: z.array(z.string()),
  reason: fact,
});

export const historyEntrySchema = z.discriminatedUnion('what', [
  request,
  response,
  event,
  delivery,
  channel,
  tokenIssued,
  tokenSet,
  connections,
  approval,
  charge,
  effect,
  fault,
  final,
  leak,
  tolerated,
]);

export type HistoryEntry = z.infer<typeof historyEntrySchema>;
export type EntryOf<W extends HistoryEntry['what']> = Extract<HistoryEntry, { what: W }>;
/** An entry without the time, which the history adds. */
export type Observation = HistoryEntry extends infer E ? (E extends HistoryEntry ? Omit<E, 'at'> : never) : never;

/** @throws ZodError, SyntaxError if a line is not a history entry */
export function parseHistory(jsonLines: string): HistoryEntry[] {
  return jsonLines
    .split('\n')
    .filter(line => line !== '')
    .map(line => historyEntrySchema.parse(JSON.parse(line)));
}
