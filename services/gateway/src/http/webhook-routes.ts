import { ProcessorError } from '@postern/payment';
import type { FastifyPluginAsync } from 'fastify';
import type { GatewayDeps } from '../deps.ts';
import { ProblemError } from './problem-error.ts';

interface ByProcessor {
  Params: { processor: string };
}

/** Where payment processors call. The signature is over the bytes, so nothing parses them before it is checked. */
export const webhookRoutes: FastifyPluginAsync<{ deps: GatewayDeps }> = async (app, { deps }) => {
  deps.telemetry?.traceRequests(app, { surface: 'webhook' });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 256 * 1024 }, (_request, body, done) =>
    done(null, body),
  );

  app.post<ByProcessor>('/webhooks/:processor', async (request, reply) => {
    const processor = deps.processors.get(request.params.processor);
    if (processor === undefined || !Buffer.isBuffer(request.body)) throw new ProblemError('not_found');
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
    );
    try {
      const isHandled = await deps.paymentFlow.hear(processor, { body: request.body, headers });
      if (!isHandled) throw new ProblemError('unavailable', { retryAfterMs: 10_000 });
    } catch (error) {
      if (!(error instanceof ProcessorError) || error.code !== 'signature_invalid') throw error;
      deps.events.webhookRefused({ processor: processor.name, code: error.code });
      throw new ProblemError('unauthenticated');
    }
    return reply.code(204).send();
  });
};
