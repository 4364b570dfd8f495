import { freePort } from '@postern/testkit/processes';
import { FastMCP } from 'fastmcp';
import { z } from 'zod';
import { IMAGE } from './conformance-content.ts';
import { WARM } from './recorded-drive.ts';

const quiet = { debug() {}, error() {}, info() {}, log() {}, warn() {} };

/** A server of FastMCP with all that it offers, over HTTP. Whatever it says or asks goes to the stream of the session. */
export async function startFastMcpServer(): Promise<AsyncDisposable & { readonly url: URL }> {
  const server = new FastMCP({ name: 'foreign', version: '1.0.0', instructions: 'Tools for a test', logger: quiet });
  addTools(server);
  server.addResource({
    uri: 'test://static',
    name: 'static',
    mimeType: 'text/plain',
    load: async () => ({ text: 'static' }),
  });
  server.addResourceTemplate({
    uriTemplate: 'test://things/{name}',
    name: 'thing',
    mimeType: 'application/json',
    arguments: [{ name: 'name', required: true }],
    load: async ({ name }) => ({ text: JSON.stringify({ name }) }),
  });
  server.addPrompt({
    name: 'greet',
    description: 'Greets',
    arguments: [
      {
        name: 'name',
        required: true,
        complete: async value => ({ values: ['Ada', 'Alan'].filter(each => each.startsWith(value)) }),
      },
    ],
    load: async ({ name }) => `Hello, ${name}`,
  });
  const port = await freePort();
  await server.start({ transportType: 'httpStream', httpStream: { port, host: '127.0.0.1' } });
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), [Symbol.asyncDispose]: () => server.stop() };
}

function addTools(server: FastMCP): void {
  server.addTool({ name: 'echo', parameters: z.object({ text: z.string() }), execute: async ({ text }) => text });
  server.addTool({ name: 'image', execute: async () => ({ content: [IMAGE] }) });
  server.addTool({
    name: 'add',
    annotations: { readOnlyHint: true, openWorldHint: false },
    parameters: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    execute: async ({ a, b }) => ({ content: [], structuredContent: { sum: a + b } }),
  });
  server.addTool({
    name: 'fail',
    execute: async () => {
      throw new Error('as it should');
    },
  });
  server.addTool({ name: 'warm_up', execute: async (_args, { log }) => void log.info(WARM) });
  server.addTool({
    name: 'tell',
    async execute(_args, { log, reportProgress, elicit }) {
      log.info('started', { at: 1 });
      await reportProgress({ progress: 1, total: 2 });
      // What was told before is in the same stream, so it has come when this is answered.
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
      return JSON.stringify(await elicit({ message: 'Name?', requestedSchema }));
    },
  });
}
