import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { createCondition } from '../support/condition.ts';
import { keyOf } from '../support/world.ts';

export interface MixedLoad extends AsyncDisposable {
  /** Resolves after this many further responses. */
  more(count: number): Promise<void>;
  /** Ends the load. Resolves after the last response. */
  finish(): Promise<LoadResult>;
}

export interface LoadResult {
  readonly requests: number;
  /** Each request that no gateway answered. */
  readonly lost: readonly LostRequest[];
}

export interface LostRequest {
  /** The request and what came instead. */
  readonly result: string;
  /** Whether a load balancer may send it to another replica: if not, a replica that closes may lose it on its way. */
  readonly mayBeRetried: boolean;
}

export interface MixedLoadOptions {
  readonly origin: string;
  readonly certificate: string;
  readonly issuer: string;
}

interface Exchange {
  readonly status: number;
  readonly body: string;
}

const CALLERS = 6;
const WAITERS = 3;
/** Ends the load if its test fails. */
const MOST_REQUESTS = 100_000;
/**
 * Pause between two requests of a caller, in ms: the load must leave processor time for the gateways on a small
 * machine.
 */
const PAUSE_MS = 20;

/** Callers that issue, read, wait, look at pages, send forms, cancel and ask for readiness, through one load balancer. */
export function startMixedLoad({ origin, certificate, issuer }: MixedLoadOptions): MixedLoad {
  const agent = new Agent({ keepAlive: true, ca: certificate });
  const lost: LostRequest[] = [];
  const answered = createCondition();
  let requests = 0;
  let isOver = false;

  async function send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Exchange> {
    if (requests >= MOST_REQUESTS) throw new RangeError(`more than ${MOST_REQUESTS} requests`);
    requests += 1;
    const isApi = path.startsWith('/v1/');
    const mayBeRetried = method !== 'POST' || 'idempotency-key' in headers;
    try {
      const exchange = await exchangeOver(agent, new URL(path, origin), {
        method,
        body,
        headers: { ...(isApi ? { authorization: `Bearer ${keyOf('tracker')}` } : { accept: 'text/html' }), ...headers },
      });
      if (!isAnswerOfGateway(exchange)) lost.push({ result: `${method} ${path}: ${exchange.status}`, mayBeRetried });
      return exchange;
    } catch (error) {
      lost.push({ result: `${method} ${path}: ${(error as NodeJS.ErrnoException).code}`, mayBeRetried });
      return { status: 0, body: '' };
    } finally {
      answered.notify();
    }
  }

  async function issue(): Promise<string | undefined> {
    const { status, body } = await send(
      'POST',
      '/v1/elicitations',
      {
        kind: 'confirmation',
        subject: { issuer, subject: `person-${randomUUID()}` },
        ttlSeconds: 600,
        message: 'Go on',
        confirmation: { title: 'Go on', facts: [] },
      },
      { 'idempotency-key': randomUUID() },
    );
    return status === 201 ? (JSON.parse(body) as { elicitationId: string }).elicitationId : undefined;
  }

  async function call(): Promise<void> {
    const elicitationId = await issue();
    if (elicitationId === undefined) return;
    const rest = [
      ['GET', `/v1/elicitations/${elicitationId}`],
      ['GET', `/e/${elicitationId}`],
      // Without a browser session the gateway refuses it, and the load balancer must not retry a POST.
      ['POST', `/e/${elicitationId}/decline`],
      ['GET', '/readyz'],
      ['POST', `/v1/elicitations/${elicitationId}/cancel`],
    ] as const;
    for (const [method, path] of rest) {
      await send(method, path);
      await delay(PAUSE_MS);
    }
  }

  /** Always keeps a waiting read open, at any replica. */
  async function wait(): Promise<void> {
    const elicitationId = await issue();
    if (elicitationId !== undefined) await send('GET', `/v1/elicitations/${elicitationId}?wait=20`);
  }

  async function repeat(turn: () => Promise<void>): Promise<void> {
    while (!isOver) {
      await turn();
      await delay(PAUSE_MS);
    }
  }
  const running = Promise.all([
    ...Array.from({ length: CALLERS }, () => repeat(call)),
    ...Array.from({ length: WAITERS }, () => repeat(wait)),
  ]);
  // `more` and `finish` report it.
  running.catch(() => undefined);
  const finish = async () => {
    isOver = true;
    await running;
    agent.destroy();
    return { requests, lost };
  };
  return {
    async more(count) {
      const enough = requests + count;
      await Promise.race([answered.until(() => requests >= enough), running]);
    },
    finish,
    async [Symbol.asyncDispose]() {
      await finish();
    },
  };
}

/**
 * A load balancer without a response from a replica sends its own page with 502, 503 or 504. A gateway's response
 * contains a code.
 */
function isAnswerOfGateway({ status, body }: Exchange): boolean {
  return status < 500 || body.includes('"code"');
}

export async function exchangeOver(
  agent: Agent,
  url: URL,
  p: { readonly method: string; readonly body?: unknown; readonly headers: Readonly<Record<string, string>> },
): Promise<Exchange> {
  const { promise, resolve, reject } = Promise.withResolvers<Exchange>();
  const payload = p.body === undefined ? '' : JSON.stringify(p.body);
  const type = p.body === undefined ? {} : { 'content-type': 'application/json' };
  const headers = { ...p.headers, ...type, ...(p.method === 'POST' && { 'content-length': String(payload.length) }) };
  request(url, { agent, method: p.method, headers }, answer => {
    text(answer).then(body => resolve({ status: answer.statusCode ?? 0, body }), reject);
  })
    .on('error', reject)
    .end(payload);
  return promise;
}
