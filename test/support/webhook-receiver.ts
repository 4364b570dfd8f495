import { randomBytes } from 'node:crypto';
import { type HttpListener, listenHttp } from '@postern/testkit/providers';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';

const payloadSchema = z.strictObject({
  type: z.string(),
  timestamp: z.iso.datetime(),
  data: z.strictObject({
    eventId: z.string(),
    elicitationId: z.string(),
    kind: z.string(),
    status: z.string(),
    mcpServerId: z.string(),
  }),
});

export interface WebhookReceiver extends AsyncDisposable {
  readonly url: string;
  readonly secret: string;
  /** Verified with the reference library and with exactly the members of the contract, in the order of arrival. */
  readonly received: readonly {
    readonly id: string;
    readonly body: string;
    readonly payload: z.infer<typeof payloadSchema>;
  }[];
  /** What was refused, because it was not signed right or said too much. */
  readonly refused: readonly unknown[];
}

/** Somebody's server that is told what becomes of elicitations. */
export async function startWebhookReceiver(
  /** Status of the answer; undefined: none, ever. */
  answer: (nth: number) => number | undefined = () => 204,
): Promise<WebhookReceiver> {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const received: WebhookReceiver['received'][number][] = [];
  const refused: unknown[] = [];
  const listener: HttpListener = await listenHttp((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      try {
        const payload = payloadSchema.parse(new Webhook(secret).verify(body, headers));
        received.push({ id: headers['webhook-id'] ?? '', body, payload });
      } catch (error) {
        refused.push(error);
      }
      const status = answer(received.length);
      if (status !== undefined) response.writeHead(status).end();
    });
  });
  return {
    url: `http://127.0.0.1:${listener.port}/hooks/postern`,
    secret,
    received,
    refused,
    [Symbol.asyncDispose]: () => listener.close(),
  };
}
