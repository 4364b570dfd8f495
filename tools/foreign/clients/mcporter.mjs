import { headers, tool, url } from './play.mjs';
import { playCommand } from './play-command.mjs';

await playCommand('node_modules/mcporter/dist/cli.js', [
  ...['call', '--http-url', url, '--allow-http', '--name', 'server', '--no-oauth'],
  ...['--header', `Authorization=${headers.authorization}`, '--tool', tool],
]);
