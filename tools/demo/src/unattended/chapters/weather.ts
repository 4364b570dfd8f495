import { randomBytes } from 'node:crypto';
import { MCP_SERVER_NAME } from '../../constellation.ts';
import type { Actor } from '../actor.ts';
import { check, checkEqual } from '../report.ts';
import type { Cast, Stage } from '../stage.ts';

const TITLE = 'API key of Weather Station';
const ENTER = 'Desk Helper asks you for access details';
const SAVED = 'Your access details are saved';
const OSLO = { place: 'Oslo' };

export async function tellOfWeather(stage: Stage, { alice, bob }: Cast): Promise<void> {
  await aliceEntersKey(stage, alice);
  await aliceReplacesKey(stage, alice);
  await bobEntersKey(stage, bob);
}

async function aliceEntersKey(stage: Stage, alice: Actor): Promise<void> {
  const { report, world, typed } = stage;
  const { browser } = alice;
  const { call, page } = await report.step('Alice’s host calls get_forecast and gets a URL to enter an API key', () =>
    alice.startAndBeAsked('get_forecast', OSLO),
  );
  await report.step('She makes one up: Weather Station rejects it, and the page says so', async () => {
    const wrong = `ws_${randomBytes(24).toString('base64url')}`;
    typed.add(wrong);
    await alice.open(page, ENTER);
    await browser.fill('API key', wrong);
    await browser.press('Save');
    await browser.read(/did not accept what you entered/);
    check(!(await browser.everything()).includes(wrong), 'the page repeats the key');
  });
  await report.step('She fetches hers from Weather Station and enters it; the call returns the forecast', async () => {
    await enterKey(stage, alice, page.url);
    check((await call.success()).startsWith('Oslo: '), 'the result has no forecast');
    checkEqual(world.weatherStation.forecastsFor('alice'), 1, 'forecasts');
  });
  await report.step('Another call reuses it without asking', async () => {
    check((await alice.call('get_forecast', { place: 'Turin' })).startsWith('Turin: '), 'the result has no forecast');
    checkEqual(world.weatherStation.forecastsFor('alice'), 2, 'forecasts');
  });
}

async function aliceReplacesKey(stage: Stage, alice: Actor): Promise<void> {
  const { report, world } = stage;
  const { browser } = alice;
  const { call, page } = await report.step(
    'She replaces her key at Weather Station, which rejects the next call; she gets a URL',
    async () => {
      await browser.open(world.weatherStation.url);
      await browser.press('Replace the key of Alice');
      return await alice.startAndBeAsked('get_forecast', OSLO);
    },
  );
  await report.step('She enters the new key, and the call returns the forecast', async () => {
    await enterKey(stage, alice, page.url);
    check((await call.success()).startsWith('Oslo: '), 'the result has no forecast');
  });
}

async function bobEntersKey(stage: Stage, bob: Actor): Promise<void> {
  await stage.report.step(
    'Bob’s host is asked to open a URL: he cannot use Alice’s key. He enters his own',
    async () => {
      const { call, page } = await bob.startAndBeAsked('get_forecast', OSLO);
      await enterKey(stage, bob, page.url);
      check((await call.success()).startsWith('Oslo: '), 'the result has no forecast');
      checkEqual(stage.world.weatherStation.forecastsFor('bob'), 1, 'forecasts');
    },
  );
}

export async function aliceDeletesKey({ report, world, typed }: Stage, { alice }: Cast): Promise<void> {
  const { browser } = alice;
  await report.step('At /me Alice sees its fingerprint, who may use it, and the tool that used it last', async () => {
    await browser.open(`${world.posternUrl}/me`);
    await browser.see('Your account');
    check((await browser.textOf('code.fingerprint')).length > 3, 'the page has no fingerprint');
    const document = await browser.everything();
    for (const trace of [TITLE, MCP_SERVER_NAME, 'get_forecast', 'Passkeys'])
      check(document.includes(trace), `the page does not say “${trace}”`);
    check(![...typed].some(key => document.includes(key)), 'the page shows a key');
  });
  const { call, page } = await report.step('She deletes it there; her next call gets a URL', async () => {
    await browser.unfold(TITLE);
    await browser.follow(`Delete ${TITLE}`);
    await browser.see('Delete these access details?');
    await browser.press('Delete');
    await browser.see('Your access details are deleted');
    return await alice.startAndBeAsked('get_forecast', OSLO);
  });
  await report.step('This time she declines, and gets no forecast', async () => {
    const before = world.weatherStation.forecastsFor('alice');
    await alice.open(page, ENTER);
    await alice.decline();
    await call.declined();
    checkEqual(world.weatherStation.forecastsFor('alice'), before, 'forecasts');
  });
}

/** Copies the person's key from Weather Station to the page of Postern. */
async function enterKey({ world, typed }: Stage, { browser, role }: Actor, url: string): Promise<void> {
  await browser.open(world.weatherStation.url);
  const key = await browser.textOf(`#key-${role.id}`);
  typed.add(key);
  await browser.open(url);
  await browser.see(ENTER);
  await browser.fill('API key', key);
  await browser.press('Save');
  await browser.see(SAVED);
  check(!(await browser.everything()).includes(key), 'the page repeats the key');
}
