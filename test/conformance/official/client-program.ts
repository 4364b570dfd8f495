/**
 * The MCP client that the official suite is let loose on: `client-program.ts <url of the suite's MCP server>`, with the scenario
 * in the environment, as the suite starts it. Everything about elicitation in it is `@postern/host`.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { attachHost, createCiHandler, type ElicitationHost } from '@postern/host';

interface Play {
  readonly revision: '2025-11-25' | '2026-07-28';
  run(host: ElicitationHost): Promise<void>;
}

const plays: Readonly<Record<string, Play>> = {
  'elicitation-sep1034-client-defaults': {
    revision: '2025-11-25',
    async run(host) {
      await host.callTool({ name: 'test_client_elicitation_defaults', arguments: {} });
    },
  },
  'sep-2322-client-request-state': {
    revision: '2026-07-28',
    async run(host) {
      // The unrelated call is under way together with the others: nothing of their rounds may be in it.
      const names = ['test_mrtr_echo_state', 'test_mrtr_no_state', 'test_mrtr_unrelated'];
      await Promise.all(names.map(name => host.callTool({ name, arguments: {} })));
      // The SDK answers a result without resultType with an error; the suite wants that it is not retried.
      const last = host.callTool({ name: 'test_mrtr_no_result_type', arguments: {} });
      await last.catch((error: unknown) => void process.stderr.write(`test_mrtr_no_result_type: ${error}\n`));
    },
  },
};

const play = plays[process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''];
const url = process.argv.at(-1);
if (play === undefined || url === undefined) throw new TypeError('not started by the conformance suite');

const mcpClient = new Client(
  { name: 'postern-host', version: '1.0.0' },
  { versionNegotiation: { mode: play.revision === '2026-07-28' ? { pin: play.revision } : 'legacy' } },
);
const host = attachHost(mcpClient, {
  mcpServer: { id: 'conformance', url },
  handler: createCiHandler({ configuration: { rules: [{ fields: { confirmed: true }, useDefaults: true }] } }),
});
await mcpClient.connect(new StreamableHTTPClientTransport(new URL(url)));
await play.run(host);
await mcpClient.close();
