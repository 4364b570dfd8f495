/**
 * `pnpm walk`: prints how many of our own modules take part in one request, by package and by room of the gateway. A module takes part when V8's precise coverage of the warmed request shows an executed function in it.
 */
import { commandLine } from '../../scripts/command-line.ts';
import { endOnSignals } from '../support/end-with-us.ts';
import { markdownTable } from '../support/markdown-table.ts';
import { measureWalks, roomOf } from './walk.ts';

const { values } = commandLine({
  usage: 'walk',
  about: 'counts our own modules that take part in one request, by package and room',
  options: { list: { type: 'boolean', about: 'name them' } },
});
endOnSignals();
const walks = await measureWalks();

const rooms = [...new Set(walks.flatMap(({ modules }) => modules.map(roomOf)))].sort();
const row = (name: string, counts: (path: string) => boolean) => [
  name,
  ...walks.map(({ modules }) => String(modules.filter(counts).length)),
];
const isGateway = (path: string) => path.startsWith('services/gateway/');
console.log(
  markdownTable(
    ['own modules', ...walks.map(({ request }) => request)],
    [
      ...rooms.map(room => row(room, path => roomOf(path) === room)),
      row('gateway in all', isGateway),
      row('packages in all', path => !isGateway(path)),
      row('total', () => true),
    ],
  ),
);
if (values.list === true)
  for (const { request, modules } of walks) console.log(`\n${request}\n  ${modules.join('\n  ')}`);
// A leased Redis would keep the process.
process.exit();
