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
  /** Milliseconds since the run began, by a clock that never goes back. */
  at: z.number(),
  /** `mcp:tracker`, `person:person-3`, `gateway:a`, `provider`, `harness`. */
  who: z.string(),
};
const fact = z.string();

const request = z.strictObject({
  ...common,
  what: z.literal('request'),
  /** By which its response is found. */
  call: z.number(),
  op: z.enum(operations),
  /** The address asked. */
  to: z.string(),
  elicitationId: fact.optional(),
  idempotencyKey: fact.optional(),
  kind: fact.optional(),
  /** The person an ask is for. */
  subject: fact.optional(),
  connectionId: fact.optional(),
});

const response = z.strictObject({
  ...common,
  what: z.literal('response'),
  call: z.number(),
  /** Absent: there was none. */
  http: z.number().optional(),
  /** Of a refusal, or of the fault of the network. */
  code: fact.optional(),
  elicitationId: fact.optional(),
  /** Of the elicitation, as it was shown. */
  status: fact.optional(),
  /** Digest of the outcome, as it was shown. */
  outcome: fact.optional(),
  /** A page that shows what is asked, to whoever looks at it. */
  shown: z.boolean().optional(),
});

const told = {
  mcpServerId: fact,
  eventId: fact,
  elicitationId: fact,
  kind: fact,
  status: fact,
};

const event = z.strictObject({ ...common, what: z.literal('event'), position: fact, ...told });
const delivery = z.strictObject({ ...common, what: z.literal('delivery'), answered: z.number().optional(), ...told });

/** From now on every end of an elicitation of this MCP server is to be announced on it: `events`, or whoever receives webhooks. */
const channel = z.strictObject({ ...common, what: z.literal('channel'), mcpServerId: fact, channel: fact });

/** The provider issued tokens for a code; once for each code. */
const tokenIssued = z.strictObject({
  ...common,
  what: z.literal('token_issued'),
  grantId: fact,
  account: fact,
});
/** An access token was handed out, and this is what it grew from. */
const tokenSet = z.strictObject({
  ...common,
  what: z.literal('token_set'),
  elicitationId: fact,
  connectionId: fact,
  grantId: fact,
  /** The exchange of a code that it grew from; a provider may give the same grant for several. */
  exchange: fact,
  /** Of whom the provider knows that grant to be. */
  account: fact,
  /** Of whom it should be. */
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
/** Somebody did what an elicitation lets be done once: redeemed it under this name. */
const effect = z.strictObject({ ...common, what: z.literal('effect'), elicitationId: fact, effect: fact });
const fault = z.strictObject({ ...common, what: z.literal('fault'), fault: fact, target: fact.optional() });
/** How an elicitation stands when everything is over, as one replica reads it. */
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
/** A secret was found where none belongs. */
const leak = z.strictObject({ ...common, what: z.literal('leak'), where: fact, secret: fact });
/** A loss that the documents promise: counted, not failed. */
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
/** Without the time, which the history adds. */
export type Observation = HistoryEntry extends infer E ? (E extends HistoryEntry ? Omit<E, 'at'> : never) : never;

/** @throws ZodError, SyntaxError when a line is none of a history */
export function parseHistory(jsonLines: string): HistoryEntry[] {
  return jsonLines
    .split('\n')
    .filter(line => line !== '')
    .map(line => historyEntrySchema.parse(JSON.parse(line)));
}
