import { inspectUrl, type OpenUrl, type Terminal } from '@postern/host';

/** Shows the sign-in URL that the MCP server named, asks the user, and opens it. @returns whether the user agreed */
export async function askToSignIn(terminal: Terminal, url: URL, openUrl: OpenUrl): Promise<boolean> {
  const inspected = inspectUrl(url.href);
  if (inspected === undefined) return false;
  terminal.tell(
    '',
    'To use this MCP server, sign in at the address that it names:',
    `  Address: ${inspected.href}`,
    `  Domain:  ${inspected.domain}`,
    ...inspected.warnings.map(({ code }) => `  Careful: ${code.replaceAll('_', ' ')}.`),
  );
  const answer = await terminal.ask('Open it in your browser? y/n: ');
  if (answer === undefined || !/^y(?:es)?$/i.test(answer)) return false;
  if (!(await openUrl(inspected.href))) terminal.tell('Cannot start a browser. Open the address yourself.');
  terminal.tell('Waiting for the sign-in in the browser …');
  return true;
}
