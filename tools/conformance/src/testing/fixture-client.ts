/** A small MCP client of both revisions, which the suite starts. `FAULT` in the environment is what it does wrong. */
import { spawnSync } from 'node:child_process';
import { z } from 'zod';
import { type Message, messagesOf } from '../wire/messages.ts';

const fault = process.env['FAULT'] ?? '';
const context = z
  .object({ tool: z.string(), consent: z.enum(['accept', 'decline']) })
  .parse(JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? ''));
const revision = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'];
const url = process.argv.at(-1) ?? '';
const capabilities = {
  elicitation: fault === 'undeclared' || fault === 'answers-undeclared' ? {} : { form: {}, url: {} },
};

const headers: Record<string, string> = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': revision ?? '',
};
let lastId = 0;

const post = (message: object) =>
  fetch(url, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...message }) });

/** Shows the page, asks the user, and opens it. */
async function elicit({ url: page }: { url: string }): Promise<object> {
  if (fault === 'prefetches') await fetch(page);
  if (fault !== 'hides-url') process.stdout.write(`Desk Helper asks you to open ${page}\n`);
  const isOpened = context.consent === 'accept' || fault === 'opens-anyway';
  const opened = fault === 'opens-other' ? `${page}?from=client` : page;
  if (isOpened) spawnSync(process.env['BROWSER'] ?? 'false', [opened]);
  const action = fault === 'always-accepts' ? 'accept' : context.consent;
  return fault === 'sends-content' ? { action, content: { ok: true } } : { action };
}

const paramsSchema = z.looseObject({ url: z.string() });

async function request(method: string, params: object): Promise<Message> {
  if (fault !== 'one-request-id') lastId += 1;
  const response = await post({ id: lastId, method, params });
  const sessionId = response.headers.get('mcp-session-id');
  if (sessionId !== null) headers['mcp-session-id'] = sessionId;
  for await (const message of messagesOf(response)) {
    if (message.method !== 'elicitation/create') return message;
    const refused = { error: { code: -32602, message: 'url mode was not declared' } };
    const answer = fault === 'undeclared' ? refused : { result: await elicit(paramsSchema.parse(message.params)) };
    await post({ id: message.id, ...answer });
  }
  throw new Error('no response');
}

async function legacy(): Promise<void> {
  await request('initialize', { protocolVersion: revision, capabilities, clientInfo: { name: 'f', version: '1' } });
  await post({ method: 'notifications/initialized' });
  const stream = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } });
  const call = () => request('tools/call', { name: context.tool, arguments: {} });
  const { error } = await call();
  if (error?.code === -32042) {
    const [asked] = z
      .object({ elicitations: z.array(z.looseObject({ url: z.string(), elicitationId: z.string() })) })
      .parse(error.data).elicitations;
    if (asked !== undefined && fault !== 'undeclared') {
      await elicit(asked);
      let notices = 0;
      for await (const { params } of messagesOf(stream)) {
        notices += 1;
        if (fault === 'believes-every-notice' || params?.['elicitationId'] === asked.elicitationId) await call();
        if (fault !== 'believes-every-notice' ? params?.['elicitationId'] === asked.elicitationId : notices === 3)
          break;
      }
    }
  }
  await stream.body?.cancel().catch(() => undefined);
}

async function modern(): Promise<void> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  let round: object = {};
  for (;;) {
    const { result } = await request('tools/call', { name: context.tool, arguments: {}, ...round, _meta });
    if (result?.['resultType'] !== 'input_required') return;
    const requests = z
      .record(z.string(), z.looseObject({ params: paramsSchema }))
      .optional()
      .parse(result['inputRequests']);
    const responses = await Promise.all(
      Object.entries(requests ?? {}).map(async ([key, { params }]) => [key, await elicit(params)] as const),
    );
    const state = String(result['requestState']);
    round = {
      ...(fault === 'keeps-responses' ? round : {}),
      ...(responses.length === 0 ? {} : { inputResponses: Object.fromEntries(responses) }),
      requestState: fault === 'trims-state' ? state.trim() : state,
    };
  }
}

if (fault === 'hangs') setInterval(() => undefined, 60_000);
else await (revision === '2026-07-28' ? modern() : legacy());
