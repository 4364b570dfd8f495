/** The client that `@postern/conformance` starts: `@postern/host` at a terminal, with a user who answers as the suite says. */
import { PassThrough, Writable } from 'node:stream';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { attachHost, createTerminal, ElicitationRefusedError } from '@postern/host';
import { z } from 'zod';

const { consent, tool } = z
  .object({ consent: z.enum(['accept', 'decline']), tool: z.string() })
  .parse(JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? ''));
const revision = process.env['MCP_CONFORMANCE_PROTOCOL_VERSION'];
const url = process.argv.at(-1) ?? '';

const input = new PassThrough();
const output = new Writable({
  write(chunk, _encoding, done) {
    process.stdout.write(chunk);
    // The user answers questions, and types nothing before.
    if (/browser\? /.test(String(chunk))) input.write(consent === 'accept' ? 'y\n' : 'n\n');
    done();
  },
});
using terminal = createTerminal({ input, output, colour: false });
const mcpClient = new Client(
  { name: 'postern-host', version: '1.0.0' },
  { versionNegotiation: { mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' } },
);
const host = attachHost(mcpClient, {
  mcpServer: { id: 'conformance', url },
  handler: terminal.handler,
  completionPrompt: terminal.completionPrompt,
});
await mcpClient.connect(new StreamableHTTPClientTransport(new URL(url)));
try {
  await host.callTool({ name: tool, arguments: {} });
} catch (error) {
  // A refusal after −32042 does not reach the MCP server.
  if (!(error instanceof ElicitationRefusedError)) throw error;
}
await mcpClient.close();
