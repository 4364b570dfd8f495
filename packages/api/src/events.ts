import { z } from 'zod';
import { kindSchema, statusSchema } from './elicitations.ts';
import { elicitationIdSchema } from './identifiers.ts';

/** Where an event stands in the feed of its MCP server: the `id` of its server-sent event. */
export const eventPositionSchema = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,14})-(0|[1-9][0-9]{0,14})$/, { error: 'not an id that this stream ever sent' });

/** A parameter that may be there several times; once, it comes as it is. */
const repeatable = <T extends z.ZodType>(schema: T) =>
  z.preprocess(value => (typeof value === 'string' ? [value] : value), z.array(schema).min(1).max(20)).optional();

export const eventsQuerySchema = z.strictObject({
  kind: repeatable(kindSchema).describe('Only these kinds. Default: all.'),
  status: repeatable(statusSchema).describe('Only moves to these statuses. Default: all.'),
  after: eventPositionSchema
    .optional()
    .describe('Go on after this event. `Last-Event-ID`, which clients send by themselves, goes before it.'),
});

/** Thin: it says that something happened. What it was is read from the elicitation. */
export const eventSchema = z
  .object({
    eventId: z.string().describe('Stable: the same announcement always carries the same one.'),
    type: z.templateLiteral(['elicitation.', statusSchema]),
    elicitationId: elicitationIdSchema,
    kind: kindSchema,
    occurredAt: z.iso.datetime(),
  })
  .meta({ id: 'ElicitationEvent' });

export type EventBody = z.infer<typeof eventSchema>;
