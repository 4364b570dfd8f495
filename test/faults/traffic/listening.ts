import { type LastingListener, listenLastingly } from '../../support/lasting-listener.ts';
import { keyOf } from '../../support/world.ts';
import type { FaultRun } from '../scenario.ts';

/** What an MCP server has heard that listens for as long as the run lasts, at any of the gateways. */
export interface Listening extends LastingListener {
  /** Elicitations of which an end was heard, with how. */
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
