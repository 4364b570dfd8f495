import { startConstellation } from '../constellation.ts';
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
import { tellOfWeather } from './chapters/weather.ts';
import { FrameLog } from './frame-log.ts';
import { createGatewayLog } from './gateway-log.ts';
import { launchHeadlessBrowser } from './headless-browser.ts';
import type { Report } from './report.ts';
import type { Stage } from './stage.ts';

/**
 * The whole story with nobody present. Everything is real: providers, gateway, Redis, MCP connections, browsers.
 *
 * @throws the first thing that was not as it must be
 */
export async function playStory(report: Report): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const log = createGatewayLog();

  report.chapter('The stage');
  const world = await report.step(
    'Postern, its Redis, Example ID, Code Forge, Weather Station and the MCP server are running',
    async () => stack.use(await startConstellation({ ports: await choosePorts(), log: log.destination })),
  );
  const chromium = await report.step('A headless browser is there', async () => {
    const browser = await launchHeadlessBrowser();
    stack.defer(() => browser.close());
    return browser;
  });
  const stage: Stage = { report, world, chromium, frames: new FrameLog(world.mcpUrl), log, typed: new Set() };

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
  await tellOfLeaks(stage);
}
