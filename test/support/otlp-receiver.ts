import { json } from 'node:stream/consumers';
import { listenHttp } from '@postern/testkit/providers';
import { z } from 'zod';

const valueSchema = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.number(), z.string()]).optional(),
});
const spanSchema = z.looseObject({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  attributes: z.array(z.object({ key: z.string(), value: valueSchema })).default([]),
  links: z.array(z.looseObject({ traceId: z.string(), spanId: z.string() })).default([]),
});
const exportSchema = z.object({
  resourceSpans: z.array(z.object({ scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })) })),
});

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string | undefined;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | undefined>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

/** An OpenTelemetry collector that keeps everything it receives (OTLP over HTTP, JSON). */
export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Everything received, as text. */
  readonly wire: () => string;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const wire: string[] = [];
  const listening = await listenHttp((request, response) => {
    void (async () => {
      const body: unknown = await json(request);
      wire.push(JSON.stringify(body));
      for (const { scopeSpans } of exportSchema.parse(body).resourceSpans)
        for (const span of scopeSpans.flatMap(scope => scope.spans))
          spans.push({
            ...span,
            attributes: Object.fromEntries(
              span.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue?.toString()]),
            ),
          });
      response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
    })();
  });
  return {
    url: `http://127.0.0.1:${listening.port}`,
    spans,
    wire: () => wire.join('\n'),
    [Symbol.asyncDispose]: () => listening.close(),
  };
}
