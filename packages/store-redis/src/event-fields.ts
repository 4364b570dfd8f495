import {
  type Elicitation,
  type ElicitationEvent,
  type ElicitationStatus,
  eventOf,
  parseElicitationId,
} from '@postern/elicitation';
import { numberOf, textOf } from './reply.ts';

/** Reads the fields of a stream entry by name. */
export function fieldReader(fields: readonly unknown[]): (name: string) => unknown {
  return name => fields[fields.indexOf(name) + 1];
}

/** What a script has written into a stream about a committed move. */
export function eventIn(field: (name: string) => unknown, mcpServerId: string): ElicitationEvent {
  const elicitationId = parseElicitationId(textOf(field('elicitationId')));
  if (elicitationId === undefined) throw new TypeError('Redis answered with something other than an event.');
  return eventOf({
    elicitationId,
    version: numberOf(field('version')),
    // Written by the same scripts that check the record; the status and kind are from closed sets.
    status: textOf(field('status')) as ElicitationStatus,
    mcpServerId,
    request: { kind: textOf(field('kind')) } as Elicitation['request'],
  });
}
