import { inspectUrl, type OpenUrl, type Terminal } from '@postern/host';

/** Signing in is the host's own question; where it leads is still the MCP server's word. @returns whether the person agreed */
export async function askToSignIn(terminal: Terminal, url: URL, openUrl: OpenUrl): Promise<boolean> {
  const inspected = inspectUrl(url.href);
  if (inspected === undefined) return false;
  terminal.tell(
    '',
    'To use this MCP server you sign in at the address that it names:',
    `  Address: ${inspected.href}`,
    `  Domain:  ${inspected.domain}`,
    ...inspected.warnings.map(({ code }) => `  Careful: ${code.replaceAll('_', ' ')}.`),
  );
  const answer = await terminal.ask('Open it in your browser? y/n: ');
  if (answer === undefined || !/^y(?:es)?$/i.test(answer)) return false;
  if (!(await openUrl(inspected.href)))
    terminal.tell('No browser could be started from here. Please open the address yourself.');
  terminal.tell('Waiting for the sign-in in the browser …');
  return true;
}
