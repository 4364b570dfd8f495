import { UsageError } from './short-form.ts';

/** What MCP clients want to be told of a server: its program, or its address. */
type ServerEntry = { readonly command: string; readonly args: readonly string[] } | { readonly url: string };

const shell = (words: readonly string[]): string =>
  words.map(word => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(' ');
const json = (value: object): string => JSON.stringify(value, undefined, 2);

const writers = {
  // Its file has programs only.
  'claude-desktop': (name, entry) =>
    json({
      mcpServers: { [name]: 'url' in entry ? { command: 'npx', args: ['-y', 'mcp-remote', entry.url] } : entry },
    }),
  'claude-code': (name, entry) =>
    `claude mcp add ${shell('url' in entry ? ['--transport', 'http', name, entry.url] : [name, '--', entry.command, ...entry.args])}`,
  vscode: (name, entry) => json({ servers: { [name]: { type: 'url' in entry ? 'http' : 'stdio', ...entry } } }),
  cursor: (name, entry) => json({ mcpServers: { [name]: entry } }),
  inspector: (_name, entry) =>
    shell([
      'npx',
      '@modelcontextprotocol/inspector',
      ...('url' in entry ? ['--transport', 'http', '--server-url', entry.url] : [entry.command, ...entry.args]),
    ]),
} as const satisfies Readonly<Record<string, (name: string, entry: ServerEntry) => string>>;

/**
 * The configuration of an MCP client with this proxy in place of a server.
 *
 * @param server arguments of the proxy, or the address at which it serves
 * @throws {UsageError} for an unknown client
 */
export function clientConfig(client: string | undefined, name: string, server: readonly string[] | string): string {
  const write = Object.entries(writers).find(([known]) => known === client)?.[1];
  if (write === undefined) throw new UsageError(`--client: one of ${Object.keys(writers).join(', ')}`);
  return write(
    name,
    typeof server === 'string' ? { url: server } : { command: 'npx', args: ['-y', '@postern/proxy', ...server] },
  );
}
