import type { TestGateway } from '@postern/mcp/testing';
import { expect } from 'vitest';
import type { z } from 'zod/v4';
import type { upstreamSchema } from '../config.ts';
import { callOf, nextAt, startWire, type WireMessage, type WireWorld } from './wire-world.ts';

export const MASK = '[hidden by postern-proxy]';

export type RuleConfig = NonNullable<z.input<typeof upstreamSchema>['rules']>[number];

export const ACCOUNT: RuleConfig = { accounts: { github: { scopes: ['repo'], as: { argument: 'token' } } } };
export const KEY = 'exa-secret-key-0123456789';
export const CREDENTIAL = { name: 'exa', title: 'API key of Exa', as: { argument: 'token' } };

export const CREATE = {
  name: 'create',
  inputSchema: { type: 'object', properties: { title: { type: 'string' }, token: { type: 'string' } } },
};

/** The proxy with one rule, before an upstream with one tool. */
export const startAsking = (gateway: TestGateway, rule: RuleConfig, holdMs = 10_000): Promise<WireWorld> =>
  startWire({ rules: [rule] }, { ...gateway.options, check: false, holdMs, onBackgroundError() {} });

async function gatewayRequest(
  { options: { url, apiKey } }: TestGateway,
  method: string,
  path: string,
): Promise<Readonly<Record<string, readonly Readonly<Record<string, string>>[]>>> {
  const response = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${apiKey}` } });
  return (await response.json()) as Awaited<ReturnType<typeof gatewayRequest>>;
}

/** Connections stay from test to test. */
export async function disconnectAll(gateway: TestGateway): Promise<void> {
  const query = new URLSearchParams(Object.entries(gateway.options.subject));
  const { connections = [] } = await gatewayRequest(gateway, 'GET', `/v1/connections?${query}`);
  for (const { connectionId } of connections)
    await gatewayRequest(gateway, 'DELETE', `/v1/connections/${connectionId}`);
  const { credentials = [] } = await gatewayRequest(gateway, 'GET', `/v1/credentials?${query}`);
  for (const { credentialId } of credentials)
    await gatewayRequest(gateway, 'DELETE', `/v1/credentials/${credentialId}`);
}

/** Answers the proxy's own request for the list. */
export async function listFor(world: WireWorld, tool: object = CREATE): Promise<void> {
  const { id, method } = await world.upstream.next();
  expect(method).toBe('tools/list');
  world.upstream.send({ jsonrpc: '2.0', id, result: { tools: [tool] } });
}

export async function initialize(world: WireWorld, capabilities: object = { elicitation: { url: {} } }): Promise<void> {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'host', version: '1.0.0' } };
  world.client.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  await world.upstream.next();
  world.upstream.send({ jsonrpc: '2.0', id: 0, result: { protocolVersion: '2025-11-25', capabilities: {} } });
  await world.client.next();
}

/** The link of the next question that a 2025-11-25 client gets. It opens the link. */
export async function asked(world: WireWorld): Promise<string> {
  const { id, method, params } = await fromProxy(world);
  expect(method).toBe('elicitation/create');
  world.client.send({ jsonrpc: '2.0', id, result: { action: 'accept' } });
  return params.url;
}

/** The next message of the proxy to the MCP client, but for completion notices. */
export async function fromProxy(world: WireWorld): Promise<WireMessage> {
  const message = await world.client.next();
  return message.method === 'notifications/elicitation/complete' ? await fromProxy(world) : message;
}

/** The next message at either end, but for completion notices. */
export async function next(world: WireWorld): Promise<WireMessage & { readonly at: string }> {
  const message = await nextAt(world);
  return message.method === 'notifications/elicitation/complete' ? await next(world) : message;
}

export const create = (id: number, args: object, more: object = {}) => callOf(id, 'create', args, more);

export const argumentsIn = ({ params }: WireMessage) => params.arguments as Readonly<Record<string, string>>;
