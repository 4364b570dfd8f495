import { startConstellation } from '../constellation.ts';
import { FrameLog } from '../frame-log.ts';
import { choosePorts } from '../ports.ts';
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
import { tellOfWeather } from './chapters/weather.ts';
import { createGatewayLog } from './gateway-log.ts';
import { launchHeadlessBrowser } from './headless-browser.ts';
import type { Report } from './report.ts';
import type { Stage } from './stage.ts';

/**
 * Plays the whole story without a human, with real providers, gateway, Redis, MCP connections and browsers.
 *
 * @throws the first failed check
 */
export async function playStory(report: Report): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const log = createGatewayLog();

  report.chapter('Preparation');
  const world = await report.step(
    'Postern, its Redis, Example ID, Code Forge, Weather Station and the MCP server are running',
    async () => stack.use(await startConstellation({ ports: await choosePorts(), log: log.destination })),
  );
  const chromium = await report.step('A headless browser is running', async () => {
    const browser = await launchHeadlessBrowser();
    stack.defer(() => browser.close());
    return browser;
  });
  const stage: Stage = { report, world, chromium, frames: new FrameLog(world.mcpUrl), log, typed: new Set() };

  await tellOfTryIt(stage);
  const alice = stack.use(await aliceConnects(stage));
  const bob = stack.use(await bobConnects(stage));
  const cast = { alice, bob };
  await bobOpensAliceLink(stage, cast);
  await aliceStaysConnected(stage, cast);
  await aliceDisconnects(stage, cast);
  await tellOfBuying(stage, cast);
  await tellOfDeleting(stage, cast);
  await tellOfWeather(stage, cast);
  await tellOfForms(stage, cast);
  await tellOfOperating(stage);
  await tellOfLeaks(stage);
}
