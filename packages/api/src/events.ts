import { z } from 'zod/v4';
import { kindSchema, statusSchema } from './elicitations.ts';
import { elicitationIdSchema } from './identifiers.ts';

/** Position of an event in the feed of its MCP server: the `id` of its server-sent event. */
export const eventPositionSchema = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,14})-(0|[1-9][0-9]{0,14})$/, { error: 'not an event id of this stream' });

/** A parameter that may be repeated. A single value is not an array. */
const repeatable = <T extends z.ZodType>(schema: T) =>
  z.preprocess(value => (typeof value === 'string' ? [value] : value), z.array(schema).min(1).max(20)).optional();

export const eventsQuerySchema = z.strictObject({
  kind: repeatable(kindSchema).describe('Only these kinds. Default: all.'),
  status: repeatable(statusSchema).describe(
    'Only transitions to these statuses, and no events of payments. Default: all.',
  ),
  after: eventPositionSchema
    .optional()
    .describe('Resume after this event. `Last-Event-ID`, which clients send automatically, takes precedence.'),
});

export type EventsQuery = z.output<typeof eventsQuerySchema>;

/** Changes of a payment that its processor has taken. */
export const paymentEventTypes = ['payment.refunded', 'payment.refund_failed', 'payment.disputed'] as const;

const eventTypeSchema = z
  .enum([...statusSchema.options.map(status => `elicitation.${status}` as const), ...paymentEventTypes])
  .meta({ id: 'EventType' });

/** A thin event: it reports a change, and callers read the elicitation or the payment for the details. */
export const eventSchema = z
  .object({
    eventId: z.string().describe('Stable: repeats of an event have the same id.'),
    type: eventTypeSchema,
    elicitationId: elicitationIdSchema,
    kind: kindSchema,
    occurredAt: z.iso.datetime(),
  })
  .meta({ id: 'ElicitationEvent' });

/** The body of a webhook, in the format of Standard Webhooks. Thin as the event; later releases may add members. */
export const webhookEventSchema = z
  .object({
    type: eventTypeSchema,
    timestamp: z.iso.datetime().describe('Time of the commit.'),
    data: z.object({
      eventId: z.string().describe('Stable: repeats of an event have the same id. Equals the header `webhook-id`.'),
      elicitationId: elicitationIdSchema,
      kind: kindSchema,
      status: statusSchema
        .optional()
        .describe('Absent from events of payments: the status of an elicitation never changes after its end.'),
      mcpServerId: z.string().describe('The MCP server that issued the elicitation, as registered at the gateway.'),
    }),
  })
  .meta({ id: 'WebhookEvent' });

export type WebhookEventBody = z.infer<typeof webhookEventSchema>;
export type EventBody = z.infer<typeof eventSchema>;
