import { CODE_FORGE, developers } from './code-forge/code-forge.ts';
import type { Constellation } from './constellation.ts';
import { EXAMPLE_ID, employees } from './identity-provider.ts';
import { MCP_URL } from './ports.ts';

/** Everything a person needs to know to try the demo, on one screen of 80 columns. */
export function screen({ posternUrl, mcpUrl, issuer, codeForge }: Constellation, logPath: string): string {
  const url = mcpUrl === MCP_URL ? '' : ` --url ${mcpUrl}`;
  const names = (people: readonly { name: string }[]) => people.map(({ name }) => name.split(' ')[0]).join(', ');
  return `
Postern demo: a tool of an MCP server needs an account that MCP must never see.

${table([
  ['Postern', posternUrl, 'the gate between them'],
  ['MCP server', mcpUrl, 'list_repositories, create_issue'],
  [EXAMPLE_ID, issuer, `sign-in: ${names(employees)}`],
  [CODE_FORGE, codeForge.issuer, `accounts: ${names(developers)}`],
])}

There are no passwords: at both providers you choose who you are.

Try it in a second terminal
  1.  npx -y pnpm@12 demo:host${url}
      Sign in as Alice, choose 1. Open the link, connect alice-codes, and watch the
      waiting call go on. Choose 1 again: nobody is asked.
  2.  Choose 2: a further permission, a new link. Copy it into a private window and
      sign in as Bob: he is refused. Then answer it as Alice.
  3.  Open ${posternUrl}/me: what is connected, and which tool used it last.
      Disconnect, then choose 1 again: you are asked anew.
  4.  npx -y pnpm@12 demo:host --era 2025-11-25${url}
      The same with an MCP client of the revision before.

From another MCP client (VS Code, MCP Inspector, …): streamable HTTP, sign-in by OAuth
  { "type": "http", "url": "${mcpUrl}" }

The gateway logs to ${logPath}
Ctrl-C stops everything; nothing is kept.
`;
}

function table(rows: readonly (readonly [name: string, url: string, what: string])[]): string {
  return rows.map(([name, url, what]) => `  ${name.padEnd(12)}${url.padEnd(28)}${what}`).join('\n');
}
