import { startWebhookReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import type { FaultRun } from '../scenario.ts';

/** The webhook receiver of an MCP server, which fails at times and records what it received. */
export async function startRecordedReceiver(
  { history, random }: Pick<FaultRun, 'history' | 'random'>,
  { mcpServerId, failureRate }: { readonly mcpServerId: string; readonly failureRate: number },
): Promise<WebhookReceiver> {
  const own = random.fork(`receiver of ${mcpServerId}`);
  const seen = new Set<string>();
  let known = 0;
  history.record({ who: 'harness', what: 'channel', mcpServerId, channel: `receiver:${mcpServerId}` });
  const receiver: WebhookReceiver = await startWebhookReceiver(count => {
    const latest = count > known ? receiver.received.at(-1) : undefined;
    known = count;
    if (latest === undefined) {
      // Invalid signature, or members outside the contract.
      history.record({
        who: 'harness',
        what: 'leak',
        where: `webhook of ${mcpServerId}`,
        secret: 'a payload that was refused',
      });
      return 400;
    }
    const { eventId, elicitationId, kind, status } = latest.payload.data;
    history.scan(`webhook of ${mcpServerId}`, latest.body);
    // The next attempt would be minutes later.
    const answered = !seen.has(eventId) && own.chance(failureRate) ? 500 : 204;
    seen.add(eventId);
    // Recorded under the receiver, whatever the payload says.
    const announcement = { mcpServerId, eventId: latest.id, elicitationId, kind, status };
    history.record({ who: `receiver:${mcpServerId}`, what: 'delivery', answered, ...announcement });
    return answered;
  });
  return receiver;
}
