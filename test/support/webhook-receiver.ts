import { randomBytes } from 'node:crypto';
import { type HttpListener, listenHttp } from '@postern/testkit/providers';
import { Webhook } from 'standardwebhooks';
import { z } from 'zod';

const elicitationSchema = z.strictObject({
  eventId: z.string(),
  elicitationId: z.string(),
  kind: z.string(),
  status: z.string(),
  mcpServerId: z.string(),
});
const passkeySchema = z.strictObject({ eventId: z.string(), pseudonym: z.string() });
type ElicitationData = z.infer<typeof elicitationSchema>;

export interface WebhookReceiver<Data = ElicitationData> extends AsyncDisposable {
  readonly url: string;
  readonly secret: string;
  /** Deliveries that the reference library verified and that have exactly the members of the contract, in order of arrival. */
  readonly received: readonly {
    readonly id: string;
    readonly body: string;
    readonly payload: { readonly type: string; readonly timestamp: string; readonly data: Data };
  }[];
  /** Deliveries with an invalid signature or unknown members. */
  readonly refused: readonly unknown[];
}

/** Status of the response; undefined: never responds. */
type Answering = (nth: number) => number | undefined;

/** A webhook receiver for events of elicitations. */
export const startWebhookReceiver = (answer: Answering = () => 204): Promise<WebhookReceiver> =>
  startReceiverOf(elicitationSchema, answer);

/** A webhook receiver of the operator, for passkey events. */
export const startOperatorReceiver = (): Promise<WebhookReceiver<z.infer<typeof passkeySchema>>> =>
  startReceiverOf(passkeySchema, () => 204);

async function startReceiverOf<Data>(dataSchema: z.ZodType<Data>, answer: Answering): Promise<WebhookReceiver<Data>> {
  const payloadSchema = z.strictObject({ type: z.string(), timestamp: z.iso.datetime(), data: dataSchema });
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  const received: WebhookReceiver<Data>['received'][number][] = [];
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
