import {
  type Elicitation,
  type ElicitationEvent,
  type ElicitationStatus,
  type EventLog,
  eventOf,
  type LoggedEvent,
  PAYMENT_VERSIONS,
  parseElicitationId,
  paymentEventOf,
  paymentEventTypes,
  type Shard,
} from '@postern/elicitation';
import { RedisPort } from './redis-port.ts';
import { isAbsent, listOf, numberOf, textOf } from './reply.ts';

/** One stream of Redis per shard, which the scripts of transitions write. */
export class RedisEventLog extends RedisPort implements EventLog {
  async read(shard: Shard, p: { readonly after?: string; readonly limit: number }): Promise<readonly LoggedEvent[]> {
    const from = p.after === undefined ? '-' : `(${p.after}`;
    return loggedIn(await this.link.call('xrange', this.keys.events(shard), from, '+', 'COUNT', p.limit));
  }
}

/** @param reply of XRANGE on the events of a shard */
export function loggedIn(reply: unknown): readonly LoggedEvent[] {
  return listOf(reply).map(entry => {
    const [position, fields] = listOf(entry);
    const field = fieldReader(listOf(fields));
    const [provider, tookMs] = [field('provider'), field('tookMs')];
    return {
      position: textOf(position),
      event: eventIn(field, textOf(field('mcpServerId'))),
      ...(isAbsent(provider) || provider === '' ? {} : { provider: textOf(provider) }),
      ...(isAbsent(tookMs) ? {} : { tookMs: numberOf(tookMs) }),
    };
  });
}

/** Reads the fields of a stream entry by name. */
export function fieldReader(fields: readonly unknown[]): (name: string) => unknown {
  // Names are at even places: a value may equal a name.
  return name => fields[fields.findIndex((field, at) => at % 2 === 0 && field === name) + 1 || fields.length];
}

/** Reads the stream entry that a script wrote for a committed transition. */
export function eventIn(field: (name: string) => unknown, mcpServerId: string): ElicitationEvent {
  const elicitationId = parseElicitationId(textOf(field('elicitationId')));
  if (elicitationId === undefined) throw new TypeError('Redis answered with something other than an event.');
  const version = numberOf(field('version'));
  const status = textOf(field('status'));
  const paymentEvent = paymentEventTypes.find(type => type === status);
  if (paymentEvent !== undefined)
    return paymentEventOf({ elicitationId, mcpServerId }, { type: paymentEvent, version: version - PAYMENT_VERSIONS });
  return eventOf({
    elicitationId,
    version,
    // The scripts that write these fields also check the record; status and kind are from closed sets.
    status: status as ElicitationStatus,
    mcpServerId,
    request: { kind: textOf(field('kind')) } as Elicitation['request'],
  });
}
