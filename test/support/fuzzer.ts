import { Agent, request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { expect } from 'vitest';
import { INJECTED_HEADER, MARKUP } from './hostile-values.ts';
import { dumpRedis } from './redis-dump.ts';
import type { World } from './world.ts';

/** Requests per route. A failure prints its seed; `FUZZ_SEED` repeats it. */
const RUNS = Number(process.env['FUZZ_RUNS'] ?? 2000);
const SEED = process.env['FUZZ_SEED'];
/** Requests at once. */
const BATCH = 25;

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string;
}

interface Received {
  readonly status: number;
  readonly type: string;
  readonly isSplit: boolean;
  readonly body: string;
}

export interface Fuzzer extends Disposable {
  /**
   * Sends every generated request, many at once, and checks each answer: never a 5xx, of an expected status, in the shape
   * of a refusal, repeating no markup, split by no line end. Afterwards nothing in Redis has changed and nothing surprised the
   * gateway.
   */
  run(requests: fc.Arbitrary<Sent>, isFine: (status: number) => boolean): Promise<void>;
}

export function createFuzzer(world: World): Fuzzer {
  const { hostname, port } = new URL(world.gateways[0]?.address ?? '');
  const agent = new Agent({ keepAlive: true, maxSockets: BATCH });
  const surprises: unknown[] = [];
  const noteSurprise = (error: unknown) => void surprises.push(error);
  process.on('unhandledRejection', noteSurprise);

  function send({ method, path, headers = {}, body }: Sent): Promise<Received> {
    const { promise, resolve, reject } = Promise.withResolvers<Received>();
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = httpRequest(
      { agent, hostname, port, method, path, headers: { ...length, ...headers } },
      incoming => {
        const chunks: Buffer[] = [];
        incoming.on('data', chunk => chunks.push(chunk));
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            type: incoming.headers['content-type'] ?? '',
            isSplit: INJECTED_HEADER in incoming.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
    return promise;
  }

  function check(sent: Sent | undefined, answer: Received, isFine: (status: number) => boolean): void {
    const context = `${JSON.stringify(sent)?.slice(0, 500)} -> ${answer.status} ${answer.body.slice(0, 200)}`;
    expect(answer.status < 500, context).toBe(true);
    expect(isFine(answer.status), context).toBe(true);
    expect(answer.body.includes(MARKUP) && answer.type.startsWith('text/html'), context).toBe(false);
    expect(answer.isSplit, context).toBe(false);
    if (answer.status >= 400)
      expect(answer.type, context).toMatch(/^(application\/problem\+json|text\/html); charset=utf-8$/);
  }

  return {
    async run(requests, isFine) {
      const before = await dumpRedis(world.redis.url);
      await fc.assert(
        fc.asyncProperty(fc.array(requests, { minLength: BATCH, maxLength: BATCH }), async batch => {
          const answers = await Promise.all(batch.map(send));
          for (const [at, answer] of answers.entries()) check(batch[at], answer, isFine);
        }),
        { numRuns: Math.ceil(RUNS / BATCH), endOnFailure: true, ...(SEED === undefined ? {} : { seed: Number(SEED) }) },
      );
      expect(await dumpRedis(world.redis.url)).toEqual(before);
      expect(surprises).toEqual([]);
      expect(world.log()).not.toContain('http.surprise');
    },

    [Symbol.dispose]() {
      process.off('unhandledRejection', noteSurprise);
      agent.destroy();
    },
  };
}
