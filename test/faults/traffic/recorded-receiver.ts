import { startWebhookReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import type { FaultRun } from '../scenario.ts';

/** The webhook receiver of an MCP server, which has bad moments and writes down what it was told. */
export async function startRecordedReceiver(
  { history, random }: Pick<FaultRun, 'history' | 'random'>,
  { mcpServerId, trouble }: { readonly mcpServerId: string; readonly trouble: number },
): Promise<WebhookReceiver> {
  const own = random.fork(`receiver of ${mcpServerId}`);
  const seen = new Set<string>();
  let known = 0;
  history.record({ who: 'harness', what: 'channel', mcpServerId, channel: `receiver:${mcpServerId}` });
  const receiver: WebhookReceiver = await startWebhookReceiver(count => {
    const latest = count > known ? receiver.received.at(-1) : undefined;
    known = count;
    if (latest === undefined) {
      // Not signed as it should be, or more than the contract says.
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
    // The second attempt would come minutes later.
    const answered = !seen.has(eventId) && own.chance(trouble) ? 500 : 204;
    seen.add(eventId);
    // By whom it was received, whatever it says.
    const told = { mcpServerId, eventId: latest.id, elicitationId, kind, status };
    history.record({ who: `receiver:${mcpServerId}`, what: 'delivery', answered, ...told });
    return answered;
  });
  return receiver;
}
