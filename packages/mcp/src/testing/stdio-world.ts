import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as InMemoryTransportV1 } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { McpServer } from '@modelcontextprotocol/server';
import { type Gate, type PosternOptions, postern } from '../index.ts';
import { type Gate as GateV1, postern as posternV1 } from '../v1/index.ts';
import { API_KEY, ContractGateway } from './contract-gateway.ts';

export const eras = ['2026-07-28', '2025-11-25', 'SDK v1'] as const;
type Era = (typeof eras)[number];
type Action = 'accept' | 'decline' | 'cancel';
type Mode = Readonly<Record<string, never>>;

/** The requests of both SDKs' clients. */
interface StdioClient {
  callTool(request: {
    name: string;
    arguments?: Record<string, string>;
  }): Promise<{ content?: unknown; isError?: unknown; _meta?: unknown }>;
  getPrompt(request: {
    name: string;
    arguments?: Record<string, string>;
  }): Promise<{ messages: readonly { content: unknown }[] }>;
  readResource(request: { uri: string }): Promise<{ contents: unknown }>;
  close(): Promise<void>;
}

const alice = { issuer: 'https://idp.example.com', subject: 'alice' };
const info = { name: 'issues', version: '1.0.0' };

interface StdioOptions {
  readonly era: Era;
  /** Default: both modes. */
  readonly elicitation?: { readonly form?: Mode; readonly url?: Mode } | undefined;
  readonly options?: Pick<PosternOptions<object>, 'fetch' | 'holdMs' | 'missingCapability' | 'onBackgroundError'>;
  /** The answer of the MCP client to a request, and what the user does meanwhile. */
  readonly onAsk?: (gateway: ContractGateway) => Action;
  readonly offer?: (server: McpServer, gate: Gate) => void;
  readonly offerV1?: (server: McpServerV1, gate: GateV1) => void;
}

/** An MCP server and an MCP client over an in-memory channel: one connection, no session id, no HTTP. */
export async function stdioWorld({ era, options, ...p }: StdioOptions) {
  const stack = new AsyncDisposableStack();
  const gateway = stack.use(await ContractGateway.start());
  const given = { url: gateway.url, apiKey: API_KEY, subject: alice, holdMs: 0, ...options };
  const elicitation = 'elicitation' in p ? p.elicitation : { form: {}, url: {} };
  const capabilities = elicitation === undefined ? {} : { elicitation: { ...elicitation } };
  const answer = () => ({ action: p.onAsk?.(gateway) ?? 'accept' });

  async function connectV2() {
    const gate = postern(given);
    stack.defer(() => gate.close());
    const [near, far] = InMemoryTransport.createLinkedPair();
    const serve = () => {
      const server = new McpServer(info);
      p.offer?.(server, gate);
      return server;
    };
    const handle = gate.stdio(serve, far);
    stack.defer(() => handle.close());
    const versionNegotiation = era === '2026-07-28' ? { versionNegotiation: { mode: { pin: era } } } : {};
    const client = new Client(info, { capabilities, ...versionNegotiation });
    if (elicitation !== undefined) client.setRequestHandler('elicitation/create', answer);
    await client.connect(near);
    return client;
  }

  async function connectV1() {
    const gate = posternV1(given);
    stack.defer(() => gate.close());
    const [near, far] = InMemoryTransportV1.createLinkedPair();
    const serve = () => {
      const server = new McpServerV1(info);
      p.offerV1?.(server, gate);
      return server;
    };
    const handle = gate.stdio(serve, far);
    stack.defer(() => handle.close());
    const client = new ClientV1(info, { capabilities });
    if (elicitation !== undefined) client.setRequestHandler(ElicitRequestSchema, answer);
    await client.connect(near);
    return client;
  }

  const client: StdioClient = await (era === 'SDK v1' ? connectV1() : connectV2());
  stack.defer(() => client.close());
  return { gateway, client, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
