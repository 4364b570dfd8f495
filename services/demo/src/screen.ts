import { CODE_FORGE, developers } from './code-forge/code-forge.ts';
import type { Constellation } from './constellation.ts';
import { EXAMPLE_ID, employees } from './identity-provider.ts';
import { MCP_URL } from './ports.ts';
import { WEATHER_STATION } from './weather-station/weather-station.ts';

/** Everything a person needs to know to try the demo, on one screen of 80 columns. */
export function screen(world: Constellation, logPath: string): string {
  const { posternUrl, mcpUrl, issuer, codeForge, weatherStation } = world;
  const url = mcpUrl === MCP_URL ? '' : ` --url ${mcpUrl}`;
  const names = (people: readonly { name: string }[]) => people.map(({ name }) => name.split(' ')[0]).join(', ');
  return `
Postern demo: tools that need what must not go through MCP: an account, a
payment, a binding yes, an API key.

${table([
  ['Postern', posternUrl, 'the gate between them'],
  ['MCP server', mcpUrl, 'seven tools'],
  [EXAMPLE_ID, issuer, `sign-in: ${names(employees)}`],
  [CODE_FORGE, codeForge.issuer, `accounts: ${names(developers)}`],
  [WEATHER_STATION, weatherStation.url, 'your API key, if you look it up'],
])}

There are no passwords: at both providers you choose who you are.

Try it in a second terminal
  npx -y pnpm@12 demo:host${url}
  1  Sign in as Alice. Open the link, connect alice-codes, and watch the waiting
     call go on. Once more: nobody is asked.
  2  A further permission, a new link. Copy it into a private window and sign in
     as Bob: he is refused. Then answer it as Alice.
  3  Deleting needs your yes, and then a permission: two questions in one tool.
  4  Buy small-doors with a button, first-edition with a passkey.
  5  Make an API key up, then enter yours. Once more: nobody is asked.
  6  A form in the terminal.   7  One with a secret, so it is a page.
  Then open ${posternUrl}/me to see and end what you have given.

  npx -y pnpm@12 demo:host --era 2025-11-25${url}
  The same with an MCP client of the revision before.

From another MCP client (VS Code, MCP Inspector, …), signed in by OAuth
  { "type": "http", "url": "${mcpUrl}" }

The gateway logs to ${logPath}
Ctrl-C stops everything; nothing is kept.
`;
}

function table(rows: readonly (readonly [name: string, url: string, what: string])[]): string {
  return rows.map(([name, url, what]) => `  ${name.padEnd(17)}${url.padEnd(28)}${what}`).join('\n');
}
