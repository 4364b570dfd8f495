import { CODE_FORGE, developers } from './code-forge/code-forge.ts';
import type { Constellation } from './constellation.ts';
import { EXAMPLE_ID, employees, operator } from './identity-provider.ts';
import { MCP_URL } from './ports.ts';
import { leftOut } from './unattended/story.ts';
import { WEATHER_STATION } from './weather-station/weather-station.ts';

const BOB_IS_REFUSED = ` Open it in a private window
     and sign in as Bob: Postern refuses him. Then open it as Alice.`;

/** Returns the instructions of the demo: one screen of 80 columns. */
export function screen(world: Constellation, logPath: string): string {
  const { tryItUrl, posternUrl, consoleUrl, mcpUrl, issuer, codeForge, weatherStation } = world;
  // From the checkout, Node.js runs main.ts itself.
  const host = process.argv[1]?.endsWith('main.ts') ? 'npx -y pnpm@12 demo:host' : 'npx @postern/demo host';
  const url = mcpUrl === MCP_URL ? '' : ` --url ${mcpUrl}`;
  const hasSignIn = world.offers('identity_login');
  const omitted = leftOut(world);
  const names = (people: readonly { name: string }[]) => people.map(({ name }) => name.split(' ')[0]).join(', ');
  return `
Postern demo: tools that need things which must not pass through MCP: an
account, a payment, a confirmation, an API key.

Open ${tryItUrl} in a browser to try it all.
${omitted === undefined ? '' : `\n${omitted}\n`}
${table([
  ['Postern', `${posternUrl}/me`, `the gateway: ${hasSignIn ? 'your account' : 'open requests'}`],
  ['Console', consoleUrl, `for operators: ${names([operator])}`],
  ['MCP server', mcpUrl, 'seven tools'],
  [EXAMPLE_ID, issuer, `sign-in: ${names(employees)}`],
  [CODE_FORGE, codeForge.issuer, `accounts: ${names(developers)}`],
  [WEATHER_STATION, weatherStation.url, 'shows your API key'],
])}

There are no passwords: at both providers you choose a user.

Or try it in a second terminal
  ${host}${url}
  1  Sign in as Alice. Open the link, connect alice-codes, and watch the waiting
     call complete. A second call does not ask you again.
  2  Needs another permission, so you get a new link.${hasSignIn ? BOB_IS_REFUSED : ''}
  3  Deleting needs your confirmation, then a permission: two links in one call.
  4  Approve small-doors with a button, first-edition with a passkey.
  5  Shows a form in the terminal.   7  Its form has a secret, so it is a page.
  6  Enter an invalid API key, then yours. A second call does not ask you again.
${hasSignIn ? `  Then open ${posternUrl}/me to see and revoke what you have granted.\n` : ''}
  ${host} --era 2025-11-25${url}
  The same, as an MCP client of the previous revision.

From another MCP client (VS Code, MCP Inspector, …), which signs you in by OAuth
  { "type": "http", "url": "${mcpUrl}" }

The gateway logs to ${logPath}
Ctrl-C stops the demo and deletes its data.
`;
}

function table(rows: readonly (readonly [name: string, url: string, what: string])[]): string {
  return rows.map(([name, url, what]) => `  ${name.padEnd(17)}${url.padEnd(28)}${what}`).join('\n');
}
