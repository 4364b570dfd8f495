/** The examples of README.md. A test compares the copies and runs these. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import {
  accept,
  attachHost,
  createCiHandler,
  createTerminal,
  type ElicitationHandler,
  ElicitationRefusedError,
  firstOf,
  formRequest,
  type OptionalElicitationHandler,
  rateLimited,
  type TerminalOptions,
  urlElicitationRequiredError,
  urlRequest,
  when,
} from '../index.ts';
import { attachHostV1 } from '../v1/index.ts';

export async function terminalExample(url: string, options: TerminalOptions) {
  // #region terminal
  const terminal = createTerminal(options);
  const client = new Client({ name: 'my-host', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  const host = attachHost(client, {
    mcpServer: { id: 'issues', url },
    handler: rateLimited(terminal.handler, { max: 10, perMs: 60_000 }),
    completionPrompt: terminal.completionPrompt,
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const result = await host.callTool({ name: 'create_issue', arguments: { repository: 'app' } });
  // #endregion
  await client.close();
  terminal.close();
  return result;
}

export async function refusalExample(callTool: () => Promise<unknown>) {
  // #region refusal
  try {
    return await callTool();
  } catch (error) {
    if (error instanceof ElicitationRefusedError) return error.toToolResult();
    throw error;
  }
  // #endregion
}

export function ciExample(log: (line: string) => void): ElicitationHandler {
  // #region ci
  const handler = createCiHandler({
    configuration: {
      rules: [
        { mcpServer: 'issues', tool: 'create_issue', fields: { title: 'Nightly build failed', labels: ['bug'] } },
        { mcpServer: 'issues', useDefaults: true },
      ],
      whenMissing: 'decline',
    },
    log,
  });
  // #endregion
  return handler;
}

export function customExample(terminal: { handler: ElicitationHandler }) {
  // #region custom
  const alwaysMyTeam: OptionalElicitationHandler = async (request, { mcpServer }) =>
    request.mode === 'form' &&
    mcpServer.id === 'issues' &&
    Object.keys(request.requestedSchema.properties).join() === 'team'
      ? accept({ team: 'core' })
      : undefined;
  const noFormsFrom = when(
    (request, { mcpServer }) => request.mode === 'form' && mcpServer.id === 'untrusted',
    async () => ({ action: 'decline', by: 'policy' }),
  );
  const handler = firstOf(noFormsFrom, alwaysMyTeam, terminal.handler);
  // #endregion
  return handler;
}

export function builderExample() {
  // #region builders
  const form = formRequest({
    message: 'Which repository?',
    requestedSchema: { type: 'object', properties: { repository: { type: 'string' } }, required: ['repository'] },
  });
  const page = urlRequest({
    message: 'Connect your account.',
    url: 'https://gate.example.com/e/1',
    elicitationId: '1',
  });
  const error = urlElicitationRequiredError([page]);
  // #endregion
  return { form, page, error };
}

export function v1Example(handler: ElicitationHandler) {
  // #region v1
  const client = new ClientV1({ name: 'my-host', version: '1.0.0' });
  const host = attachHostV1(client, { mcpServer: { id: 'issues' }, handler });
  // #endregion
  return host;
}
