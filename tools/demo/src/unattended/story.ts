import { type Constellation, startConstellation } from '../constellation.ts';
import { FrameLog } from '../frame-log.ts';
import { choosePorts } from '../ports.ts';
import { Actor } from './actor.ts';
import { tellOfBuying } from './chapters/buying.ts';
import {
  aliceConnects,
  aliceDisconnects,
  aliceStaysConnected,
  bobConnects,
  bobOpensAliceLink,
} from './chapters/connecting.ts';
import { tellOfDeleting } from './chapters/deleting.ts';
import { tellOfForms } from './chapters/forms.ts';
import { tellOfLeaks } from './chapters/leaks.ts';
import { tellOfOperating } from './chapters/operating.ts';
import { tellOfTryIt } from './chapters/try-it.ts';
import { aliceDeletesKey, tellOfWeather } from './chapters/weather.ts';
import { createGatewayLog } from './gateway-log.ts';
import { launchHeadlessBrowser } from './headless-browser.ts';
import { checkEqual, type Report } from './report.ts';
import { ALICE, BOB, type Chapter, type Stage } from './stage.ts';

const story: readonly Chapter[] = [
  { title: 'The page to try everything, in a browser alone', tell: tellOfTryIt },
  { title: 'Alice connects an account', tell: aliceConnects },
  { title: 'Bob connects an account', tell: bobConnects },
  {
    title: 'Bob opens Alice’s link',
    tell: bobOpensAliceLink,
    needs: { capability: 'identity_login', steps: 5 },
  },
  { title: 'Alice’s access token expires', tell: aliceStaysConnected },
  {
    title: 'Alice manages her connections',
    tell: aliceDisconnects,
    needs: { capability: 'identity_login', steps: 4 },
  },
  { title: 'Buying books: each approval is charged once', tell: tellOfBuying },
  { title: 'Deleting repositories: a confirmation, then a connection, in one handler', tell: tellOfDeleting },
  { title: 'The weather: an API key that only Postern and the MCP server see', tell: tellOfWeather },
  {
    title: 'Alice deletes her API key',
    tell: aliceDeletesKey,
    needs: { capability: 'identity_login', steps: 3 },
  },
  { title: 'Forms: in the host without secrets, on a page with secrets', tell: tellOfForms },
  { title: 'The console: what operators see', tell: tellOfOperating },
  { title: 'What the MCP clients and the model have seen', tell: tellOfLeaks },
];

/** Says which chapters this gateway cannot show, and how to get them. Undefined if it can show all. */
export function leftOut({ offers }: Pick<Constellation, 'offers'>): string | undefined {
  const missing = story.flatMap(({ title, needs }) =>
    needs === undefined || offers(needs.capability) ? [] : [{ title, steps: needs.steps }],
  );
  if (missing.length === 0) return undefined;
  const steps = missing.reduce((sum, chapter) => sum + chapter.steps, 0);
  return `No redis-server 7 or newer is installed, so this gateway keeps its state in a
file and is for one person: it does not check who opens a page. ${missing.length} chapters with
${steps} steps need Redis and are left out:
${missing.map(chapter => `  ${chapter.title} (${chapter.steps})`).join('\n')}
To see them, install it and start the demo again.
  Debian, Ubuntu: apt-get install redis-server    macOS: brew install redis
  Windows: run the demo in WSL`;
}

/**
 * Plays the whole story without a human, with real providers, gateway, store, MCP connections and browsers. Leaves out the chapters that
 * this gateway cannot show.
 *
 * @returns what was left out, if anything
 * @throws the first failed check
 */
export async function playStory(report: Report): Promise<string | undefined> {
  await using stack = new AsyncDisposableStack();
  const log = createGatewayLog();

  report.tell('Preparation');
  const chromium = await report.step('A headless browser is running', async () => {
    const browser = await launchHeadlessBrowser();
    stack.defer(() => browser.close());
    return browser;
  });
  const world = await report.step(
    'Postern, its store, Example ID, Code Forge, Weather Station and the MCP server are running',
    async () => stack.use(await startConstellation({ ports: await choosePorts(), log: log.destination })),
  );
  const frames = new FrameLog(world.mcpUrl);
  const alice = await report.step(
    'Alice’s host connects (revision 2026-07-28); she signs in at Example ID in her browser',
    async () => stack.use(await Actor.enter({ role: ALICE, era: '2026-07-28', world, chromium, frames })),
  );
  const bob = await report.step(
    'Bob’s host connects (revision 2025-11-25); he signs in at Example ID in his own browser',
    async () => stack.use(await Actor.enter({ role: BOB, era: '2025-11-25', world, chromium, frames })),
  );
  const stage: Stage = { report, world, chromium, frames, log, typed: new Set() };
  const omitted = leftOut(world);
  if (omitted !== undefined) report.tell(omitted);

  for (const { title, tell, needs } of story) {
    if (needs !== undefined && !world.offers(needs.capability)) continue;
    report.tell(title);
    const before = report.steps;
    await tell(stage, { alice, bob });
    if (needs !== undefined) checkEqual(report.steps - before, needs.steps, `steps of “${title}”`);
  }
  return omitted;
}
