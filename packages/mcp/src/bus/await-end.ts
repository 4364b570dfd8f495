import type { ElicitationBody } from '@postern/api';
import { isTerminal } from '../elicitation-status.ts';
import type { GatewayClient } from '../gateway-client.ts';
import type { EventBus } from './event-bus.ts';
import type { Listening } from './listeners.ts';

/** A wait for the end of an elicitation that listens while it lasts. */
export interface EndWatch extends Disposable {
  /**
   * What a waiting read answers: the elicitation once it has ended, or as it stands when the time is over. While the stream of
   * events is live it is read now and then when an event says so; otherwise the gateway is asked to wait.
   *
   * @param isKnown it was read before, and was open; then undefined says that nothing has come since
   * @throws {GatewayError}, or the signal's reason
   */
  read(seconds: number, signal: AbortSignal, isKnown?: boolean): Promise<ElicitationBody | undefined>;
}

/** @param bus undefined: the gateway is always asked to wait */
export function watchEnd(
  client: Pick<GatewayClient, 'read'>,
  bus: EventBus | undefined,
  elicitationId: string,
): EndWatch {
  const listening = bus?.listen(elicitationId);
  return {
    read: (seconds, signal, isKnown = false) =>
      bus === undefined || listening === undefined
        ? client.read(elicitationId, seconds, signal)
        : readByEvents({ client, bus, listening, seconds, signal, isKnown }),
    [Symbol.dispose]: () => listening?.[Symbol.dispose](),
  };
}

async function readByEvents(p: {
  readonly client: Pick<GatewayClient, 'read'>;
  readonly bus: EventBus;
  readonly listening: Listening;
  readonly seconds: number;
  readonly signal: AbortSignal;
  readonly isKnown: boolean;
}): Promise<ElicitationBody | undefined> {
  const { client, bus, listening, seconds, signal } = p;
  const { elicitationId } = listening;
  const until = performance.now() + seconds * 1000;
  let latest: ElicitationBody | undefined;
  let mustRead = !p.isKnown;
  for (;;) {
    const leftMs = until - performance.now();
    if (!bus.isLive && leftMs >= 1000) {
      latest = await client.read(elicitationId, Math.floor(leftMs / 1000), signal);
      if (isTerminal(latest)) bus.foundEnded(elicitationId);
      return latest;
    }
    // Listened for already, so that what ends from now on is told.
    if (mustRead) latest = await client.read(elicitationId, 0, signal);
    if (latest !== undefined && isTerminal(latest)) return latest;
    if (leftMs <= 0) return latest;
    mustRead = (await listening.next(leftMs, signal)) !== 'over';
  }
}
