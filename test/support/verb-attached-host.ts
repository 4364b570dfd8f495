import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { attachHost, type HostOptions } from '@postern/host';
import { attachHostV1 } from '@postern/host/v1';
import { z } from 'zod';
import type { Way } from './verb-play.ts';
import type { VerbArgs, VerbTool } from './verb-tools.ts';

/** An MCP client whose elicitations are handled by `@postern/host`. */
export interface AttachedHost extends AsyncDisposable {
  /** @returns the final text of the tool */
  call(tool: VerbTool, args: VerbArgs): Promise<string | undefined>;
}

const info = { name: 'Conformance Host', version: '1.0.0' };
const resultSchema = z.looseObject({ content: z.array(z.looseObject({ text: z.string().optional() })) });
const textOf = (result: unknown) => resultSchema.parse(result).content[0]?.text;

/** A connection of this kind, without declared capabilities: `@postern/host` declares them. */
export async function connectAttachedHost(p: {
  readonly way: Way;
  readonly url: URL;
  readonly subject: string;
  readonly options: Omit<HostOptions, 'mcpServer'>;
}): Promise<AttachedHost> {
  const { way, url, subject } = p;
  const options = { ...p.options, mcpServer: { id: 'tracker', url: url.href } };
  const { promise: streaming, resolve: onStream } = Promise.withResolvers<void>();
  const transportOptions = {
    requestInit: { headers: { authorization: `Bearer ${subject}` } },
    // The SDKs open the session's GET stream in the background, without an event when it is open.
    fetch: async (target: string | URL, init?: RequestInit) => {
      const response = await fetch(target, init);
      if (init?.method === 'GET') onStream();
      return response;
    },
  };
  if (way.sdk === 'v1') {
    const client = new ClientV1(info);
    const host = attachHostV1(client, options);
    await client.connect(new TransportV1(url, transportOptions));
    await streaming;
    return {
      call: async (name, args) => textOf(await host.callTool({ name, arguments: { ...args } })),
      [Symbol.asyncDispose]: () => client.close(),
    };
  }
  const isModern = way.revision === '2026-07-28';
  const client = new ClientV2(info, { versionNegotiation: { mode: isModern ? { pin: way.revision } : 'legacy' } });
  const host = attachHost(client, options);
  await client.connect(new TransportV2(url, transportOptions));
  if (!isModern) await streaming;
  return {
    call: async (name, args) => textOf(await host.callTool({ name, arguments: { ...args } })),
    [Symbol.asyncDispose]: () => client.close(),
  };
}
