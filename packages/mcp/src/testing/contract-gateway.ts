import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  accessTokenRequestSchema,
  type CallerBody,
  type ElicitationBody,
  type IssueElicitation,
  issueElicitationSchema,
  listConnectionsQuerySchema,
  listCredentialsQuerySchema,
  type OutcomeBody,
  type ProblemCode,
  problems,
  type RefundBody,
  type RefundRequestBody,
  readCredentialRequestSchema,
  redeemRequestSchema,
  refundRequestSchema,
  waitQuerySchema,
} from '@postern/api';
import { digest } from '../run/ask-log.ts';
import { ContractConnections } from './contract-connections.ts';
import { ContractCredentials } from './contract-credentials.ts';
import { ContractResults, needsRedemption, outcomeFor, type Typed, typedFor } from './contract-results.ts';
import { exampleCaller } from './example-caller.ts';

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
 * The HTTP contract in memory, for tests of this package. Time does not pass here: a waiting read is answered when the test ends
 * the elicitation or calls `timeIsOver`.
 */
export class ContractGateway implements AsyncDisposable {
  readonly requests: RecordedRequest[] = [];
  readonly connections = new ContractConnections();
  readonly credentials = new ContractCredentials();
  readonly results = new ContractResults();
  readonly #elicitations = new Map<string, Stored>();
  readonly #idempotent = new Map<string, { readonly fingerprint: string; readonly elicitationId: string }>();
  readonly #httpServer = createServer((request, response) => void this.#serve(request, response));
  readonly #arrivals = new Set<() => void>();
  readonly #departures = new Set<() => void>();
  #failures: ((response: ServerResponse) => void)[] = [];
  #count = 0;
  #ticks = 0;
  /** By their keys. */
  readonly refunds = new Map<string, RefundBody>();
  readonly #paidBack = new Set<string>();
  /** If set, waiting reads answer immediately, as if their wait had passed. */
  answersAtOnce = false;
  /** Members of `GET /v1/me` that differ from the example. Undefined: it is not available. */
  registration: Partial<CallerBody> | undefined = {};
  /** Requests for it. */
  described = 0;

  constructor() {
    this.results.encryptionKey = () => this.connections.encryptionKey;
    this.credentials.encryptionKey = () => this.connections.encryptionKey;
  }

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

  /** Ends an elicitation (the last one by default) like the user, the API or the expiry. */
  end(
    status: 'completed' | 'declined' | 'cancelled' | 'expired' | 'failed',
    elicitationId?: string,
    typed?: Typed,
  ): ElicitationBody {
    const stored = this.#find(elicitationId);
    const outcome = status === 'completed' ? this.#complete(stored, typed ?? typedFor(stored.request)) : undefined;
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

  /** Gives an elicitation (the last one by default) a status that is not final. */
  suspend(status: 'active' | 'verifying', elicitationId?: string): void {
    const stored = this.#find(elicitationId);
    stored.body = { ...stored.body, status };
  }

  /** Answers every waiting read with the current status. */
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

  /** Deletes an elicitation, as Redis does some time after its end. */
  forget(elicitationId: string): void {
    this.#elicitations.delete(elicitationId);
  }

  /** The next requests, in order, get these responses instead. */
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
    // The background check of a gate comes at any time: it is not recorded and takes no failure of another request.
    if (url.pathname === '/v1/me') return await this.#describe(request, response);
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
    if (request.method === 'POST' && collection === 'elicitations' && id !== undefined && verb === 'cancel') {
      const stored = this.#elicitations.get(id);
      if (stored === undefined) return problem(response, 'not_found');
      if (stored.body.status !== 'cancelled' && !isOpen(stored.body.status)) return problem(response, 'already_ended');
      if (stored.body.status === 'verifying' && stored.body.kind === 'payment')
        return problem(response, 'payment_in_progress');
      return json(response, 200, this.end('cancelled', id));
    }
    if (request.method === 'POST' && collection === 'payments' && id !== undefined && verb === 'refunds')
      return json(response, 201, this.#refund(id, String(idempotencyKey), refundRequestSchema.parse(body)));
    if (request.method === 'POST' && collection === 'elicitations' && id !== undefined && verb === 'redeem') {
      return await this.#redeem(id, body, typeof idempotencyKey === 'string' ? idempotencyKey : randomUUID(), response);
    }
    if (collection === 'credentials') return await this.#credentials(request.method, id, body, url, response);
    if (request.method === 'POST' && collection === 'connections' && id !== undefined && verb === 'access-token') {
      return await this.#accessToken(id, body, response);
    }
    if (request.method === 'GET' && collection === 'connections' && id === undefined) {
      const query = listConnectionsQuerySchema.parse(Object.fromEntries(url.searchParams));
      return json(response, 200, { connections: this.connections.list(query) });
    }
    problem(response, 'not_found');
  }

  async #describe(request: IncomingMessage, response: ServerResponse) {
    if (request.headers.authorization !== `Bearer ${API_KEY}`) return problem(response, 'unauthenticated');
    this.described += 1;
    if (this.registration === undefined) return void response.writeHead(503).end();
    const example = await exampleCaller(this.url, this.connections.encryptionKey);
    json(response, 200, { ...example, ...this.registration });
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
    if (body.kind === 'authorization' && body.authorization.provider === 'unknown')
      return problem(response, 'unknown_provider');

    const askKey = digest([body.subject, body.kind, essenceOf(body)]);
    const open = [...this.#elicitations.values()].find(
      stored => stored.askKey === askKey && (isOpen(stored.body.status) || this.#isUnredeemed(stored)),
    );
    const stored = open ?? this.#create(askKey, body);
    if (idempotencyKey !== undefined) {
      this.#idempotent.set(idempotencyKey, { fingerprint, elicitationId: stored.body.elicitationId });
    }
    json(response, open === undefined && stored.body.status === 'pending' ? 201 : 200, stored.body);
  }

  /** Completed with a result that is not redeemed: the same ask returns it instead of asking the user twice. */
  #isUnredeemed({ body, request }: Stored): boolean {
    return body.status === 'completed' && needsRedemption(request) && body.redeemedAt === undefined;
  }

  #create(askKey: string, body: IssueElicitation): Stored {
    this.#count += 1;
    const elicitationId = `el-${this.#count}`;
    const served = this.#served(askKey, body);
    const stored: Stored = {
      request: body,
      askKey,
      waiters: new Set(),
      body: {
        elicitationId,
        kind: body.kind,
        status: served === undefined ? 'pending' : 'completed',
        url: `${this.url}/e/${elicitationId}`,
        matchCode: `K7-${40 + this.#count}`,
        message: body.message,
        createdAt: this.#timestamp(),
        expiresAt: new Date(Date.now() + 600_000).toISOString(),
        outcome: served,
      },
    };
    this.#elicitations.set(elicitationId, stored);
    return stored;
  }

  /** Returns the stored connection or credential that answers the request. */
  #served(askKey: string, body: IssueElicitation): OutcomeBody | undefined {
    if (body.kind === 'authorization') {
      const served = this.connections.serving(askKey);
      if (served === undefined) return undefined;
      const { connectionId, provider, scopes } = served;
      return { kind: 'authorization', connectionId, provider, scopes };
    }
    if (body.kind !== 'credential' || needsRedemption(body)) return undefined;
    const kept = this.credentials.serving(body);
    return kept && { kind: 'credential', name: kept.name, credentialId: kept.credentialId };
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

  /** Makes the refund that its key names, once. */
  #refund(id: string, key: string, { minorUnits = 1050, reason }: RefundRequestBody): RefundBody {
    const known = this.refunds.get(key);
    if (known !== undefined) return known;
    const refund: RefundBody = {
      refundId: `rf_${this.refunds.size + 1}`,
      minorUnits,
      status: 'succeeded',
      requestedBy: 'mcp_server',
      createdAt: this.#timestamp(),
      reason,
    };
    this.refunds.set(key, refund);
    if (minorUnits === 1050) this.#paidBack.add(id);
    return refund;
  }

  async #redeem(id: string, raw: unknown, key: string, response: ServerResponse) {
    const parsed = redeemRequestSchema.safeParse(raw ?? {});
    if (!parsed.success) return problem(response, 'invalid_request');
    if (this.#paidBack.has(id)) {
      const refused = this.#find(id);
      refused.body = { ...refused.body, redeemedAt: this.#timestamp() };
      return problem(response, 'payment_refunded');
    }
    const stored = this.#elicitations.get(id);
    if (stored === undefined) return problem(response, 'not_found');
    const result = await this.results.redeem(id, key, parsed.data.sealed === true, this.#timestamp());
    if (typeof result === 'string') return problem(response, result);
    stored.body = { ...stored.body, redeemedAt: result.redeemedAt };
    if (this.results.loses > 0) {
      this.results.loses -= 1;
      return response.destroy();
    }
    json(response, 200, result);
  }

  async #credentials(
    method: string | undefined,
    id: string | undefined,
    body: unknown,
    url: URL,
    response: ServerResponse,
  ) {
    if (id === undefined) {
      const query = listCredentialsQuerySchema.parse(Object.fromEntries(url.searchParams));
      return json(response, 200, { credentials: this.credentials.list(query) });
    }
    if (method === 'DELETE') {
      return this.credentials.remove(id) ? json(response, 200, { credentialId: id }) : problem(response, 'not_found');
    }
    const answer = await this.credentials.read(id, readCredentialRequestSchema.parse(body ?? {}));
    if (typeof answer === 'string') return problem(response, answer);
    json(response, 200, answer);
  }

  #complete({ request, body: { elicitationId }, askKey }: Stored, typed: Typed): OutcomeBody {
    const at = this.#timestamp();
    if (request.kind === 'authorization') {
      const { subject, authorization } = request;
      const connectionId = `co-${elicitationId}`;
      const connection = { connectionId, provider: authorization.provider, scopes: ['repo'] };
      this.connections.add({ ...connection, askKey, subject, createdAt: at });
      return { kind: 'authorization', ...connection };
    }
    if (request.kind === 'credential' && !needsRedemption(request)) {
      const values = Object.fromEntries(Object.entries(typed).map(([name, value]) => [name, `${value}`]));
      const credentialId = this.credentials.put(elicitationId, request, values, at);
      return { kind: 'credential', name: request.credential.name, credentialId };
    }
    this.results.add(elicitationId, request, typed);
    return outcomeFor(request, at);
  }

  /** Increases with every use, so that tests can rely on the order of events. */
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

/** Returns the members that make two requests equal. Ignores the rejected generation of a credential. */
function essenceOf(request: IssueElicitation): unknown {
  switch (request.kind) {
    case 'authorization':
      return request.authorization;
    case 'payment':
      return request.payment;
    case 'confirmation':
      return request.confirmation;
    case 'credential':
      return { ...request.credential, rejectedGeneration: undefined };
    case 'form':
      return request.form;
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
