import { terminalStatuses } from '@postern/api';
import type { Authorizer } from '../gateway-auth.ts';
import type { GatewayTransport, StreamedAnswer } from '../gateway-transport.ts';

/** Only what an elicitation ends with: the rest would be traffic for nothing. */
const PATH = `/v1/events?${terminalStatuses.map(status => `status=${status}`).join('&')}`;
/** For the head of the answer, which comes at once from a gateway, and late or never through what holds answers back. */
const HEAD_MS = 5_000;

/** @param after the position to go on behind; undefined: where the stream is now */
export type OpenEvents = (after: string | undefined, signal: AbortSignal) => Promise<StreamedAnswer>;

export function openEvents(transport: GatewayTransport, authorize: Authorizer): OpenEvents {
  return async (after, signal) =>
    await transport.stream({
      method: 'GET',
      path: PATH,
      headers: {
        accept: 'text/event-stream',
        authorization: await authorize(),
        ...(after === undefined ? {} : { 'last-event-id': after }),
      },
      timeoutMs: HEAD_MS,
      signal,
    });
}
