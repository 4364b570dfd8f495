import { createHash } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ElicitationBody, IssueElicitationInput } from '@postern/api';
import { keyOf } from '../../support/world.ts';
import type { Operation } from '../history-entry.ts';
import type { SeededRandom } from '../random.ts';
import type { FaultRun } from '../scenario.ts';

export interface ApiAnswer {
  readonly http: number;
  readonly body: Record<string, unknown>;
  readonly retryAfterMs: number | undefined;
}

/** An MCP server that calls the API, retries safe requests and records what it sees. */
export interface Caller {
  readonly mcpServerId: string;
  /** Sends one request to an address. Undefined: there was no response. */
  call(operation: Call, to: string): Promise<ApiAnswer | undefined>;
  /** Retries until a response is final. Undefined: gave up. */
  insist(operation: Call, random: SeededRandom): Promise<ApiAnswer | undefined>;
  issue(ask: IssueElicitationInput, facts: IssueFacts, random: SeededRandom): Promise<ElicitationBody | undefined>;
  read(elicitationId: string, random: SeededRandom, waitSeconds?: number): Promise<ElicitationBody | undefined>;
}

export interface IssueFacts {
  readonly idempotencyKey: string;
  readonly subject: string;
}

export interface Call {
  readonly op: Operation;
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body?: unknown;
  readonly elicitationId?: string;
  readonly connectionId?: string;
  readonly idempotencyKey?: string;
  readonly kind?: string;
  readonly subject?: string;
  readonly timeoutMs?: number;
  /** The response contains a secret that this caller may have. */
  readonly isSecret?: boolean;
}

export interface CallerOptions {
  readonly mcpServerId: string;
  readonly addresses: () => readonly string[];
  readonly timeoutMs: number;
  /** Maximum pause before a retry. The caller gives up on a longer Retry-After. */
  readonly patienceMs: number;
  readonly attempts: number;
}

const UNANSWERED = new Set([429, 502, 503, 504]);

export function createCaller({ history }: Pick<FaultRun, 'history'>, options: CallerOptions): Caller {
  const { mcpServerId, addresses, patienceMs } = options;
  const who = `mcp:${mcpServerId}`;
  // Separate connections: one with many waiting reads must not delay other requests.
  const agent = new Agent({ keepAlive: true });

  async function call(operation: Call, to: string): Promise<ApiAnswer | undefined> {
    const { op, elicitationId, idempotencyKey, kind, subject, connectionId } = operation;
    const id = history.nextCall();
    history.record({
      who,
      what: 'request',
      call: id,
      op,
      to,
      ...defined({ elicitationId, idempotencyKey, kind, subject, connectionId }),
    });
    try {
      const { http, text, retryAfter } = await exchange(operation, to);
      if (operation.isSecret !== true) history.scan(`answer to ${op}`, text);
      const body = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
      history.record({ who, what: 'response', call: id, http, ...factsOf(body) });
      return { http, body, retryAfterMs: retryAfter === undefined ? undefined : Number(retryAfter) * 1000 };
    } catch (error) {
      history.record({ who, what: 'response', call: id, code: codeOf(error) });
      return undefined;
    }
  }

  function exchange({ method, path, body, idempotencyKey, timeoutMs = options.timeoutMs }: Call, to: string) {
    const { promise, resolve, reject } = Promise.withResolvers<{
      http: number;
      text: string;
      retryAfter: string | undefined;
    }>();
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const outgoing = httpRequest(
      new URL(path, to),
      {
        agent,
        method,
        headers: {
          authorization: `Bearer ${keyOf(mcpServerId)}`,
          ...(sent === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
      },
      incoming => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () =>
          resolve({
            http: incoming.statusCode ?? 0,
            text: Buffer.concat(chunks).toString(),
            retryAfter: incoming.headers['retry-after'],
          }),
        );
      },
    );
    const timer = setTimeout(() => outgoing.destroy(Object.assign(new Error(), { code: 'NO_ANSWER' })), timeoutMs);
    promise.then(
      () => clearTimeout(timer),
      () => clearTimeout(timer),
    );
    outgoing.on('error', reject);
    outgoing.end(sent);
    return promise;
  }

  async function insist(operation: Call, random: SeededRandom): Promise<ApiAnswer | undefined> {
    for (let attempt = 1; attempt <= options.attempts; attempt += 1) {
      const answer = await call(operation, random.pick(addresses()));
      if (answer !== undefined && !UNANSWERED.has(answer.http)) return answer;
      const wanted = answer?.retryAfterMs ?? Math.min(50 * 2 ** (attempt - 1), 1000) + random.below(50);
      if (wanted > patienceMs) return undefined;
      await delay(wanted);
    }
    return undefined;
  }

  return {
    mcpServerId,
    call,
    insist,
    async issue(ask, { idempotencyKey, subject }, random) {
      const { kind } = ask;
      const answer = await insist(
        { op: 'issue', method: 'POST', path: '/v1/elicitations', body: ask, idempotencyKey, kind, subject },
        random,
      );
      if (answer === undefined) return undefined;
      if (answer.http !== 201 && answer.http !== 200)
        throw new Error(
          `${kind} not issued: ${answer.http} ${String(answer.body['code'])} ${JSON.stringify(answer.body['errors'] ?? '')}`,
        );
      return answer.body as unknown as ElicitationBody;
    },
    async read(elicitationId, random, waitSeconds) {
      const query = waitSeconds === undefined ? '' : `?wait=${waitSeconds}`;
      const timeoutMs = options.timeoutMs + (waitSeconds ?? 0) * 1000;
      const path = `/v1/elicitations/${elicitationId}${query}`;
      const answer = await insist({ op: 'read', method: 'GET', path, elicitationId, timeoutMs }, random);
      return answer?.http === 200 ? (answer.body as unknown as ElicitationBody) : undefined;
    },
  };
}

/** The members of a body that may be recorded. */
export function factsOf(body: Record<string, unknown>) {
  const text = (name: string) => (typeof body[name] === 'string' ? body[name] : undefined);
  const { outcome } = body;
  return defined({
    code: text('code'),
    elicitationId: text('elicitationId'),
    status: text('status') === undefined || text('elicitationId') === undefined ? undefined : text('status'),
    outcome: outcome === undefined ? undefined : digestOf(outcome),
  });
}

export const digestOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64url').slice(0, 16);

export function defined<T extends Record<string, string | undefined>>(
  facts: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** Code of a network error. */
export function codeOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'NO_JSON';
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'NO_ANSWER';
}
