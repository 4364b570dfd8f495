import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  accessTokenRequestSchema,
  type ElicitationBody,
  type IssueElicitation,
  issueElicitationSchema,
  listConnectionsQuerySchema,
  type ProblemCode,
  problems,
  waitQuerySchema,
} from '@postern/api';
import type { z } from 'zod';
import { digest } from '../digest.ts';
import { ContractConnections } from './contract-connections.ts';

export const API_KEY = 'test-api-key-0123456789abcdef';
type Status = ElicitationBody['status'];

interface Stored {
  readonly request: IssueElicitation;
  body: ElicitationBody;
  readonly askKey: string;
  readonly waiters: Set<() => void>;
}

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly body: unknown;
}

/**
 * The HTTP contract in memory, for tests of this package. Time does not pass here: a waiting read is answered when the
 * test ends the elicitation, or when it says that the time is over.
 */
export class ContractGateway implements AsyncDisposable {
  readonly requests: RecordedRequest[] = [];
  readonly connections = new ContractConnections();
  readonly #elicitations = new Map<string, Stored>();
  readonly #idempotent = new Map<string, { readonly fingerprint: string; readonly elicitationId: string }>();
  readonly #httpServer = createServer((request, response) => void this.#serve(request, response));
  readonly #arrivals = new Set<() => void>();
  readonly #departures = new Set<() => void>();
  #failures: ((response: ServerResponse) => void)[] = [];
  #count = 0;
  #ticks = 0;
  /** When set, waiting reads answer at once, as if the time were always over. */
  answersAtOnce = false;

  static async start(): Promise<ContractGateway> {
    const gateway = new ContractGateway();
    await new Promise<void>(resolve => gateway.#httpServer.listen(0, '127.0.0.1', resolve));
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#httpServer.address() as AddressInfo).port}`;
  }

  get elicitations(): ElicitationBody[] {
    return [...this.#elicitations.values()].map(stored => stored.body);
  }

  get issueCount(): number {
    return this.requests.filter(request => request.method === 'POST' && request.path === '/v1/elicitations').length;
  }

  get waiting(): number {
    return [...this.#elicitations.values()].reduce((sum, stored) => sum + stored.waiters.size, 0);
  }

  /** Ends an elicitation (the last one by default) as the user, the API or the time would. */
  end(status: 'completed' | 'declined' | 'cancelled' | 'expired' | 'failed', elicitationId?: string): ElicitationBody {
    const stored = this.#find(elicitationId);
    const outcome = status === 'completed' ? this.#connect(stored) : undefined;
    stored.body = {
      ...stored.body,
      status,
      endedAt: this.#timestamp(),
      ...(outcome === undefined ? {} : { outcome }),
      ...(status === 'failed' ? { failure: { code: 'provider_refused' } } : {}),
    };
    this.#wake(stored);
    return stored.body;
  }

  /** Answers every waiting read with the status as it stands. */
  timeIsOver(): void {
    for (const stored of this.#elicitations.values()) this.#wake(stored);
  }

  /** Resolves when at least `count` waiting reads are open. */
  async untilWaiting(count = 1): Promise<void> {
    while (this.waiting < count) await new Promise<void>(resolve => this.#arrivals.add(resolve));
  }

  /** Resolves when at most `count` waiting reads are open. */
  async untilIdle(count = 0): Promise<void> {
    while (this.waiting > count) await new Promise<void>(resolve => this.#departures.add(resolve));
  }

  /** Forgets an elicitation, as Redis does some time after it has ended. */
  forget(elicitationId: string): void {
    this.#elicitations.delete(elicitationId);
  }

  /** The next requests, in order, meet these answers instead. */
  failNext(...failures: ((response: ServerResponse) => void)[]): void {
    this.#failures.push(...failures);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#httpServer.closeAllConnections();
    await new Promise(resolve => this.#httpServer.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse) {
    const url = new URL(request.url ?? '/', this.url);
    const raw = await text(request);
    const body: unknown = raw === '' ? undefined : JSON.parse(raw);
    const idempotencyKey = request.headers['idempotency-key'];
    this.requests.push({
      method: request.method ?? '',
      path: url.pathname,
      authorization: request.headers.authorization,
      idempotencyKey: typeof idempotencyKey === 'string' ? idempotencyKey : undefined,
      body,
    });
    const failure = this.#failures.shift();
    if (failure !== undefined) return failure(response);
    if (request.headers.authorization !== `Bearer ${API_KEY}`) return problem(response, 'unauthenticated');

    const [, , collection, id, verb] = url.pathname.split('/').map(decodeURIComponent);
    if (request.method === 'POST' && collection === 'elicitations' && id === undefined) {
      return this.#issue(body, typeof idempotencyKey === 'string' ? idempotencyKey : undefined, response);
    }
    if (request.method === 'GET' && collection === 'elicitations' && id !== undefined) {
      return await this.#read(id, url.searchParams, request, response);
    }
    if (request.method === 'POST' && collection === 'connections' && id !== undefined && verb === 'access-token') {
      return await this.#accessToken(id, body, response);
    }
    if (request.method === 'GET' && collection === 'connections' && id === undefined) {
      return this.#list(listConnectionsQuerySchema.parse(Object.fromEntries(url.searchParams)), response);
    }
    problem(response, 'not_found');
  }

  #issue(raw: unknown, idempotencyKey: string | undefined, response: ServerResponse) {
    const parsed = issueElicitationSchema.safeParse(raw);
    if (!parsed.success) return problem(response, 'invalid_request');
    const body = parsed.data;
    const fingerprint = digest(body);
    const earlier = idempotencyKey === undefined ? undefined : this.#idempotent.get(idempotencyKey);
    if (earlier !== undefined) {
      if (earlier.fingerprint !== fingerprint) return problem(response, 'idempotency_key_reused');
      return json(response, 201, this.#find(earlier.elicitationId).body);
    }
    if (body.authorization.provider === 'unknown') return problem(response, 'unknown_provider');

    const askKey = digest([body.subject, body.authorization]);
    const open = [...this.#elicitations.values()].find(
      stored => stored.askKey === askKey && (stored.body.status === 'pending' || stored.body.status === 'active'),
    );
    const stored = open ?? this.#create(askKey, body);
    if (idempotencyKey !== undefined) {
      this.#idempotent.set(idempotencyKey, { fingerprint, elicitationId: stored.body.elicitationId });
    }
    json(response, open === undefined && stored.body.status === 'pending' ? 201 : 200, stored.body);
  }

  #create(askKey: string, body: IssueElicitation): Stored {
    this.#count += 1;
    const elicitationId = `el-${this.#count}`;
    const served = this.connections.serving(askKey);
    const stored: Stored = {
      request: body,
      askKey,
      waiters: new Set(),
      body: {
        elicitationId,
        kind: 'authorization',
        status: served === undefined ? 'pending' : 'completed',
        url: `${this.url}/e/${elicitationId}`,
        matchCode: `K7-${40 + this.#count}`,
        ...(body.message === undefined ? {} : { message: body.message }),
        createdAt: this.#timestamp(),
        expiresAt: new Date(Date.now() + 600_000).toISOString(),
        ...(served === undefined
          ? {}
          : {
              outcome: {
                kind: 'authorization' as const,
                connectionId: served.connectionId,
                provider: served.provider,
                scopes: served.scopes,
              },
            }),
      },
    };
    this.#elicitations.set(elicitationId, stored);
    return stored;
  }

  async #read(id: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse) {
    const stored = this.#elicitations.get(id);
    if (stored === undefined) return problem(response, 'not_found');
    const { wait = 0 } = waitQuerySchema.parse(Object.fromEntries(query));
    if (wait > 0 && isOpen(stored.body.status) && !this.answersAtOnce) {
      await new Promise<void>(resolve => {
        stored.waiters.add(resolve);
        request.socket.once('close', () => {
          stored.waiters.delete(resolve);
          resolve();
        });
        for (const arrived of this.#arrivals) arrived();
        this.#arrivals.clear();
      });
      for (const departed of this.#departures) departed();
      this.#departures.clear();
    }
    json(response, 200, stored.body);
  }

  async #accessToken(connectionId: string, raw: unknown, response: ServerResponse) {
    const parsed = accessTokenRequestSchema.safeParse(raw);
    if (!parsed.success) return problem(response, 'invalid_request');
    const answer = await this.connections.take(connectionId, parsed.data);
    if (typeof answer === 'string') return problem(response, answer);
    json(response, 200, answer);
  }

  #list(query: z.infer<typeof listConnectionsQuerySchema>, response: ServerResponse) {
    json(response, 200, { connections: this.connections.list(query) });
  }

  #connect(stored: Stored): NonNullable<ElicitationBody['outcome']> {
    const connectionId = `co-${stored.body.elicitationId}`;
    const scopes = ['repo'];
    const { subject, authorization } = stored.request;
    const { provider } = authorization;
    this.connections.add({
      connectionId,
      askKey: stored.askKey,
      subject,
      provider,
      scopes,
      createdAt: this.#timestamp(),
    });
    return { kind: 'authorization', connectionId, provider, scopes };
  }

  /** Later with every use, so that tests can rely on the order of events. */
  #timestamp(): string {
    this.#ticks += 1;
    return new Date(Date.now() + this.#ticks).toISOString();
  }

  #wake(stored: Stored): void {
    for (const wake of stored.waiters) wake();
    stored.waiters.clear();
  }

  #find(elicitationId: string | undefined): Stored {
    const stored =
      elicitationId === undefined ? [...this.#elicitations.values()].at(-1) : this.#elicitations.get(elicitationId);
    if (stored === undefined) throw new Error('no such elicitation');
    return stored;
  }
}

function isOpen(status: Status): boolean {
  return status === 'pending' || status === 'active' || status === 'verifying';
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function problem(response: ServerResponse, code: ProblemCode, headers: Record<string, string> = {}): void {
  const { status, title } = problems[code];
  response
    .writeHead(status, { 'content-type': 'application/problem+json', ...headers })
    .end(JSON.stringify({ type: `urn:postern:problem:${code}`, title, status, code, requestId: 'req-1' }));
}
