import { type LastingListener, listenLastingly } from '../../support/lasting-listener.ts';
import { keyOf } from '../../support/world.ts';
import type { FaultRun } from '../scenario.ts';

/** Events that an MCP server has received, listening at any of the gateways for the whole run. */
export interface Listening extends LastingListener {
  /** Terminal status by elicitation, from events. */
  readonly ends: ReadonlyMap<string, string>;
}

export interface ListeningOptions {
  readonly mcpServerId: string;
  readonly addresses: () => readonly string[];
}

export async function startListening(
  { history, random }: FaultRun,
  { mcpServerId, addresses }: ListeningOptions,
): Promise<Listening> {
  const own = random.fork(`listener of ${mcpServerId}`);
  const who = `mcp:${mcpServerId}`;
  const ends = new Map<string, string>();
  const listener = await listenLastingly({
    apiKey: keyOf(mcpServerId),
    nextAddress: () => own.pick(addresses()),
    onEvent({ id, type, data }) {
      const { eventId = '', elicitationId = '', kind = '' } = data;
      const status = type.slice(type.indexOf('.') + 1);
      history.scan(`events of ${mcpServerId}`, JSON.stringify(data));
      history.record({ who, what: 'event', mcpServerId, position: id, eventId, elicitationId, kind, status });
      ends.set(elicitationId, status);
    },
  });
  history.record({ who: 'harness', what: 'channel', mcpServerId, channel: 'events' });
  return { ...listener, ends };
}
