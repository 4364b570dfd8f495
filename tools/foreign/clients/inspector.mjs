import { era, headers, tool, url } from './play.mjs';
import { playCommand } from './play-command.mjs';

await playCommand('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', [
  ...['--cli', url, '--transport', 'http', '--protocol-era', era === '2026-07-28' ? 'modern' : 'legacy'],
  ...['--header', `Authorization: ${headers.authorization}`, '--stored-auth-only'],
  ...['--method', 'tools/call', '--tool-name', tool],
]);
