import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Person } from '../person.ts';
import { isResponse, type Message, parseMessage } from '../wire/messages.ts';

/** What a fixture does wrong. */
export type Fault =
  | ('ignores-capability' | 'never-asks' | 'no-message' | 'one-id' | 'relative-url' | 'http-url' | 'email-in-url')
  | ('token-in-url' | 'session-in-url' | 'fails-on-refusal' | 'accept-completes' | 'get-completes')
  | ('anonymous-completes' | 'anyone-completes' | 'never-completes' | 'other-id' | 'notice-to-all')
  | ('early-notice' | 'notice-twice' | 'required-error' | 'capability-code' | 'state-is-number' | 'state-shows-user')
  | ('fails-without-response' | 'fails-on-unknown' | 'takes-malformed' | 'unsigned-state' | 'state-for-anyone')
  | ('state-for-any-arguments' | 'replay-for-anyone');

export interface FixtureServer extends AsyncDisposable {
  readonly url: URL;
  /** Opens a page as this person and tries to complete it. */
  open(person: Person, page: string): Promise<'done'>;
  /** Forgets what users did. */
  reset(): void;
}

export const TOOL = 'connect';
export const tokens = { alice: 'token-of-alice', bob: 'token-of-bob' } as const;
const userOf = (token: string) => Object.entries(tokens).find(([, each]) => each === token)?.[0];

interface Session {
  readonly id: string;
  readonly elicitation: unknown;
  readonly streams: Set<ServerResponse>;
  readonly waiting: Map<string, (message: Message) => void>;
}
interface Elicitation {
  readonly id: string;
  readonly user: string;
  readonly session: Session | undefined;
}

const hasUrl = (elicitation: unknown) =>
  typeof elicitation === 'object' && elicitation !== null && 'url' in elicitation;

/** A small MCP server of both revisions that keeps to the specification, apart from its faults. */
export async function startFixtureServer(style: 'error' | 'push', ...faults: readonly Fault[]): Promise<FixtureServer> {
  const is = (fault: Fault) => faults.includes(fault);
  const key = randomBytes(32);
  const sessions = new Map<string, Session>();
  const elicitations = new Map<string, Elicitation>();
  const done = new Set<string>();
  const waiters = new Set<() => void>();

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.writeHead(500).end());
  });
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', resolve);
  await listening;
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function complete({ id, user, session }: Elicitation): void {
    if (is('never-completes')) return;
    done.add(user);
    const to = is('notice-to-all') ? [...sessions.values()] : session === undefined ? [] : [session];
    const params = { elicitationId: is('other-id') ? randomUUID() : id };
    for (let time = 0; time < (is('notice-twice') ? 2 : 1); time += 1) for (const each of to) notice(each, params);
    for (const wake of waiters) wake();
  }
  function notice({ streams }: Session, params: object): void {
    const event = { jsonrpc: '2.0', method: 'notifications/elicitation/complete', params };
    for (const stream of streams) stream.write(`data: ${JSON.stringify(event)}\n\n`);
  }

  function page(request: IncomingMessage, id: string): number {
    const elicitation = elicitations.get(id);
    if (elicitation === undefined) return 404;
    if (request.method !== 'POST') {
      if (is('get-completes')) complete(elicitation);
      return 200;
    }
    const visitor = request.headers['x-user'];
    if (is('early-notice') && elicitation.session !== undefined)
      notice(elicitation.session, { elicitationId: elicitation.id });
    const isAllowed =
      visitor === elicitation.user || is('anyone-completes') || (visitor === undefined && is('anonymous-completes'));
    if (isAllowed) complete(elicitation);
    return isAllowed ? 200 : 403;
  }

  function newElicitation(user: string, session: Session | undefined) {
    const page = randomUUID();
    const elicitation: Elicitation = { id: is('one-id') ? 'the-id' : randomUUID(), user, session };
    elicitations.set(page, elicitation);
    const extra = [
      ...(is('email-in-url') ? ['who=alice%40example.com'] : []),
      ...(is('token-in-url') ? ['access_token=abc'] : []),
      ...(is('session-in-url') ? [`s=${session?.id}`] : []),
    ];
    const base = is('relative-url') ? '' : is('http-url') ? 'http://gate.example.org' : origin;
    const url = `${base}/page/${page}${extra.length === 0 ? '' : `?${extra.join('&')}`}`;
    const request = { mode: 'url', url, ...(is('no-message') ? {} : { message: 'Open this page.' }) };
    return { elicitation, request };
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', origin);
    if (pathname.startsWith('/page/')) return void response.writeHead(page(request, pathname.slice(6))).end();
    const user = userOf((request.headers.authorization ?? '').replace('Bearer ', ''));
    if (user === undefined) return void response.writeHead(401).end();
    const session = sessions.get(String(request.headers['mcp-session-id']));
    if (request.method === 'GET' && session !== undefined) {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      session.streams.add(response);
      return;
    }
    if (request.method !== 'POST') return void response.writeHead(200).end();
    const message = parseMessage(await text(request));
    if (isResponse(message)) session?.waiting.get(String(message.id))?.(message);
    if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end();
    const reply = (body: object, status = 200, headers = {}) =>
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...body }));
    if (request.headers['mcp-protocol-version'] === '2026-07-28') {
      const body = modern(message, user);
      reply(body, 'error' in body && body.error?.code === -32021 ? 400 : 200);
    } else if (message.method === 'initialize') {
      const id = randomUUID();
      const declared = message.params?.['capabilities'] as { elicitation?: unknown };
      sessions.set(id, { id, elicitation: declared.elicitation, streams: new Set(), waiting: new Map() });
      const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'f', version: '1' } };
      reply({ result }, 200, { 'mcp-session-id': id });
    } else if (session !== undefined) await legacy(message, user, session, response, reply);
  }

  const say = (text: string, isError = false) => ({ result: { content: [{ type: 'text', text }], isError } });

  async function legacy(
    { id }: Message,
    user: string,
    session: Session,
    response: ServerResponse,
    reply: (body: object) => void,
  ): Promise<void> {
    if (done.has(user) || is('never-asks')) return reply(say('done'));
    if (!hasUrl(session.elicitation) && !is('ignores-capability')) return reply(say('see our site', true));
    const { elicitation, request } = newElicitation(user, session);
    const asked = { ...request, elicitationId: elicitation.id };
    if (style === 'error') {
      if (is('accept-completes')) complete(elicitation);
      return reply({ error: { code: -32042, message: 'open', data: { elicitations: [asked] } } });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const write = (event: object) => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...event })}\r\n\r\n`);
    const pushId = randomUUID();
    const { promise, resolve: onAnswer } = Promise.withResolvers<Message>();
    session.waiting.set(pushId, onAnswer);
    write({ id: pushId, method: 'elicitation/create', params: asked });
    const { result } = await promise;
    if (result?.['action'] !== 'accept') {
      const failure = { error: { code: -32603, message: 'unexpected action' } };
      response.end(
        `data: ${JSON.stringify({ jsonrpc: '2.0', id, ...(is('fails-on-refusal') ? failure : say('no', true)) })}\n\n`,
      );
      return;
    }
    if (is('accept-completes')) complete(elicitation);
    if (!done.has(user)) {
      const { promise: over, resolve: onOver } = Promise.withResolvers<void>();
      const check = () => (done.has(user) ? onOver() : undefined);
      waiters.add(check);
      await over;
      waiters.delete(check);
    }
    write({ id, ...say('done') });
    response.end();
  }

  const sign = (text: string) => `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;

  function modern({ params = {} }: Message, user: string) {
    const { arguments: args, inputResponses, requestState } = params;
    const meta = params['_meta'] as Record<string, { elicitation?: unknown }>;
    const invalid = { error: { code: -32602, message: 'invalid' } };
    const digest = JSON.stringify(args);
    if (requestState !== undefined) {
      const [body = ''] = String(requestState).split('.');
      if (!is('unsigned-state') && sign(body) !== requestState) return invalid;
      const held = Buffer.from(body, 'base64url').toString().split('|');
      const isStolen = held[0] !== createHmac('sha256', key).update(user).digest('base64url');
      if (isStolen && !is('state-for-anyone') && !(is('replay-for-anyone') && done.size > 0)) return invalid;
      if (held[1] !== digest && !is('state-for-any-arguments') && !is('unsigned-state')) return invalid;
    }
    if (done.has(user) || is('never-asks') || (is('replay-for-anyone') && done.size > 0)) return say('done');
    if (is('required-error')) return { error: { code: -32042, message: 'open' } };
    if (!hasUrl(meta['io.modelcontextprotocol/clientCapabilities']?.elicitation) && !is('ignores-capability')) {
      const data = { requiredCapabilities: { elicitation: { url: {} } } };
      return { error: { code: is('capability-code') ? -32602 : -32021, message: 'missing capability', data } };
    }
    if (typeof inputResponses === 'string') return is('takes-malformed') ? say('done') : invalid;
    const given = (inputResponses ?? {}) as Record<string, { action: string } | undefined>;
    if (inputResponses !== undefined && Object.keys(given).length === 0 && is('fails-without-response')) return invalid;
    if ('not asked for' in given && is('fails-on-unknown')) return invalid;
    const action = given['page']?.action;
    if (action === 'decline' || action === 'cancel')
      return is('fails-on-refusal') ? { error: { code: -32603, message: 'unexpected action' } } : say('no', true);
    const { elicitation, request } = newElicitation(user, undefined);
    if (action === 'accept' && is('accept-completes')) {
      complete(elicitation);
      return say('done');
    }
    const owner = createHmac('sha256', key).update(user).digest('base64url');
    const body = Buffer.from(`${owner}|${digest}${is('state-shows-user') ? '|alice@example.com' : ''}`).toString(
      'base64url',
    );
    const state = is('state-is-number') ? 7 : sign(body);
    const inputRequests = { page: { method: 'elicitation/create', params: request } };
    return { result: { resultType: 'input_required', inputRequests, requestState: state } };
  }

  return {
    url: new URL(`${origin}/mcp`),
    async open(person, target) {
      const user = { owner: 'alice', stranger: 'bob', anonymous: undefined }[person];
      const response = await fetch(target, { method: 'POST', headers: user === undefined ? {} : { 'x-user': user } });
      await response.body?.cancel();
      return 'done';
    },
    reset: () => done.clear(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
      server.close(() => onClosed());
      await closed;
    },
  };
}
