import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import express from 'express';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod/v4';
import { postern } from '../index.ts';
import { API_KEY, ContractGateway } from '../testing/contract-gateway.ts';
import { connectLegacyHost, type SdkName } from '../testing/legacy-world.ts';
import { outcome } from '../testing/outcome-tool.ts';
import { postern as posternV1 } from '../v1/index.ts';
import type { McpEndpoint } from './endpoint.ts';

const readme = readFileSync(`${import.meta.dirname}/../../README.md`, 'utf8');
const person = { issuer: 'https://idp.example.com', subject: 'alice' };
const info = { name: 'issues', version: '1.0.0' };
const shape = { title: z.string() };

let gateway: ContractGateway;
let stack: AsyncDisposableStack;
beforeEach(async () => {
  gateway = await ContractGateway.start();
  stack = new AsyncDisposableStack();
  stack.use(gateway);
});
afterEach(() => stack.disposeAsync());

const endpoints: Readonly<Record<SdkName, () => McpEndpoint>> = {
  v2() {
    const gate = postern({ url: gateway.url, apiKey: API_KEY, subject: person });
    stack.defer(() => gate.close());
    return gate.endpoint(() => {
      const server = new McpServer(info);
      const handler = gate.tool((args: { title: string }, ctx) => outcome(ctx.gate, args));
      server.registerTool('outcome', { inputSchema: z.object(shape) }, handler);
      return server;
    });
  },
  v1() {
    const gate = posternV1({ url: gateway.url, apiKey: API_KEY, subject: person });
    stack.defer(() => gate.close());
    return gate.endpoint(() => {
      const server = new McpServerV1(info);
      const handler = gate.tool((args: { title: string }, extra) => outcome(extra.gate, args));
      server.registerTool('outcome', { inputSchema: shape }, handler);
      return server;
    });
  },
};

/** Runs the line of README that mounts the endpoint, on a free port. */
async function mount(name: string, mcp: McpEndpoint): Promise<URL> {
  const line = new RegExp(`^(.+;) +// ${name}$`, 'm').exec(readme)?.[1];
  if (line === undefined) throw new Error(`README mounts nothing in ${name}`);
  const apps: { readonly server: Server }[] = [];
  const scope = {
    mcp,
    createServer,
    express,
    serve,
    Hono,
    getConnInfo,
    fastify: () => {
      const app = fastify();
      apps.push(app);
      return app;
    },
  };
  const run = new Function(...Object.keys(scope), `return ${line.replace('3000', '0')}`);
  const started: unknown = run(...Object.values(scope));
  const server = apps[0]?.server ?? (started as Server);
  if (!server.listening) await once(server, 'listening');
  stack.defer(async () => {
    await mcp.close();
    server.closeAllConnections();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
}

describe.each(['node:http', 'express', 'fastify', 'hono'])('endpoint() in %s', framework => {
  test.each([
    ['v2', 'v2'],
    ['v2', 'v1'],
    ['v1', 'v2'],
    ['v1', 'v1'],
  ] as const)(
    'server on SDK %s: a 2025-11-25 client on SDK %s gets −32042, the notice, and the answer',
    async (serverSdk, clientSdk) => {
      const url = await mount(framework, endpoints[serverSdk]());
      const host = await connectLegacyHost(clientSdk, url);
      stack.defer(() => host.close());
      const { error } = await host.call('confirm');
      expect(error).toMatchObject({ code: -32042, data: { elicitations: [{ mode: 'url', elicitationId: 'el-1' }] } });
      gateway.end('completed');
      await host.untilCompleted(1);
      expect(host.completions).toEqual(['el-1']);
      expect(await host.call('confirm')).toMatchObject({ text: 'accept receipt-of-el-1' });
      await host.terminate();
    },
  );

  test('a 2026-07-28 client is asked in its revision, and an older SDK makes it fall back', async () => {
    for (const [sdk, revision] of [
      ['v2', '2026-07-28'],
      ['v1', '2025-11-25'],
    ] as const) {
      const url = await mount(framework, endpoints[sdk]());
      const client = new Client(
        { name: 'host', version: '1.0.0' },
        { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: 'auto' } },
      );
      stack.defer(() => client.close());
      const asked: string[] = [];
      client.setRequestHandler('elicitation/create', ({ params }) => {
        if (params.mode === 'url') asked.push(params.url);
        gateway.end('completed');
        return { action: 'accept' };
      });
      await client.connect(new StreamableHTTPClientTransport(url));
      expect(client.getNegotiatedProtocolVersion()).toBe(revision);
      const { content } = await client.callTool({ name: 'outcome', arguments: { title: 'confirm' } });
      expect(content).toEqual([{ type: 'text', text: expect.stringMatching(/^accept receipt-of-el-\d$/) }]);
      expect(asked).toHaveLength(1);
    }
  });
});
