import type { Browser } from 'playwright-core';
import { forgeScopes } from '../code-forge/code-forge.ts';
import { type Constellation, MCP_SERVER_NAME, startConstellation } from '../constellation.ts';
import { choosePorts } from '../ports.ts';
import { Actor, type Role } from './actor.ts';
import { FrameLog } from './frame-log.ts';
import { createGatewayLog, type GatewayLog } from './gateway-log.ts';
import { HeadlessPerson, launchHeadlessBrowser } from './headless-browser.ts';
import { check, checkEqual, type Report } from './report.ts';

const ALICE: Role = { name: 'Alice', forgeAccount: 'alice-codes' };
const BOB: Role = { name: 'Bob', forgeAccount: 'bob-builds' };

interface Stage {
  readonly report: Report;
  readonly world: Constellation;
  readonly chromium: Browser;
  readonly frames: FrameLog;
  readonly log: GatewayLog;
}

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
    'Postern, its Redis, Example ID, Code Forge and the MCP server are running',
    async () => stack.use(await startConstellation({ ports: await choosePorts(), log: log.destination })),
  );
  const chromium = await report.step('A headless browser is there', async () => {
    const browser = await launchHeadlessBrowser();
    stack.defer(() => browser.close());
    return browser;
  });
  const stage: Stage = { report, world, chromium, frames: new FrameLog(world.mcpUrl), log };

  const alice = stack.use(await aliceConnects(stage));
  const bob = stack.use(await bobConnects(stage));
  await bobOpensAliceLink(stage, alice, bob);
  await aliceStaysConnected(stage, alice);
  await aliceDisconnects(stage, alice);
  await nothingLeaked(stage);
}

async function aliceConnects({ report, world, chromium, frames }: Stage): Promise<Actor> {
  report.chapter('Alice, with an MCP client of revision 2026-07-28');
  await using stack = new AsyncDisposableStack();
  const alice = stack.use(
    await report.step('Alice’s host connects; she signs in at Example ID in her browser', () =>
      Actor.enter({ role: ALICE, era: '2026-07-28', world, chromium, frames }),
    ),
  );
  const { question, matchCode, result } = await report.step(
    'It calls list_repositories and is asked to open a URL of Postern (input_required)',
    () => alice.callAndBeAsked('list_repositories'),
  );
  await report.step(`She opens it, is recognised, and sees the same code as in her host: ${matchCode}`, () =>
    alice.arrive(question.url, matchCode),
  );
  await report.step(
    'She accepts, leaves for Code Forge, signs in and allows there, and comes back to “connected”',
    () => alice.accept(),
  );
  await report.step('The call that was held all the while returns her repositories', async () => {
    const { text, isError } = await result();
    checkEqual(isError, false, 'isError');
    checkRepositories(text, ALICE, BOB);
  });
  await report.step('A second call answers at once; nobody is asked', async () => {
    checkRepositories(await alice.call('list_repositories'), ALICE, BOB);
  });
  stack.move();
  return alice;
}

async function bobConnects({ report, world, chromium, frames }: Stage): Promise<Actor> {
  report.chapter('Bob, with an MCP client of revision 2025-11-25');
  await using stack = new AsyncDisposableStack();
  const bob = stack.use(
    await report.step('Bob’s host connects; he signs in at Example ID in his own browser', () =>
      Actor.enter({ role: BOB, era: '2025-11-25', world, chromium, frames }),
    ),
  );
  const { question, matchCode, result } = await report.step(
    'It calls list_repositories and is answered −32042 with a URL: Alice’s connection is not his',
    async () => {
      const asked = await bob.callAndBeAsked('list_repositories');
      check(
        frames.frames.some(frame => frame.includes('"code":-32042')),
        'there was no −32042',
      );
      return asked;
    },
  );
  await report.step(`He opens it, is recognised, and sees the code ${matchCode}`, () =>
    bob.arrive(question.url, matchCode),
  );
  await report.step('He accepts and connects his own account at Code Forge', () => bob.accept());
  await report.step('The completion notice arrives, the host calls again, and lists Bob’s repositories', async () => {
    const { text, isError } = await result();
    checkEqual(isError, false, 'isError');
    checkRepositories(text, BOB, ALICE);
    const notice = '"method":"notifications/elicitation/complete"';
    check(
      frames.frames.some(frame => frame.includes(notice)),
      'there was no completion notice',
    );
  });
  stack.move();
  return bob;
}

async function bobOpensAliceLink({ report, world, chromium, log }: Stage, alice: Actor, bob: Actor): Promise<void> {
  report.chapter('Bob opens a link that was meant for Alice');
  const { question, matchCode, result } = await report.step(
    'Alice’s host calls create_issue, which needs a further permission; a new URL arrives',
    () =>
      alice.callAndBeAsked('create_issue', { repository: 'alice-codes/garden-planner', title: 'Plant more tomatoes' }),
  );
  const elicitationId = new URL(question.url).pathname.split('/').at(-1) ?? '';
  await report.step(
    'Bob’s browser opens it and is refused (403); the page says nothing about Alice or the request',
    async () => {
      checkEqual(await bob.browser.open(question.url), 403, 'status');
      await bob.browser.see('This request is for another account');
      const page = await bob.browser.everything();
      for (const trace of [
        'alice',
        'codes',
        MCP_SERVER_NAME,
        'Code Forge',
        new URL(world.codeForge.issuer).host,
        matchCode,
        'issue',
      ])
        check(!page.toLowerCase().includes(trace.toLowerCase()), `the page says “${trace}”`);
      check(log.text().includes('wrong_person'), 'there is no audit event of it');
    },
  );
  await report.step('Somebody who is not signed in is shown nothing but the way to sign in', async () => {
    await using stranger = await HeadlessPerson.sitDown(chromium);
    checkEqual(await stranger.open(question.url), 200, 'status');
    const page = await stranger.everything();
    for (const trace of ['alice', MCP_SERVER_NAME, 'Code Forge', matchCode])
      check(!page.toLowerCase().includes(trace.toLowerCase()), `the page says “${trace}”`);
  });
  await report.step('Alice’s link still works; she declines on the page', async () => {
    await alice.browser.open(question.url);
    await alice.browser.read(matchCode);
    await alice.decline();
  });
  await report.step('The held call reports that she declined; no issue was created', async () => {
    const { text, isError } = await result();
    checkEqual(isError, true, 'isError');
    check(/declined/.test(text), 'the result does not say that she declined');
    check(!text.includes(elicitationId), 'the result repeats the link');
    checkEqual(world.codeForge.authorizedCalls(), 3, 'API calls at Code Forge');
  });
}

async function aliceStaysConnected({ report, world: { codeForge } }: Stage, alice: Actor): Promise<void> {
  report.chapter('Alice’s access token comes to its end');
  await report.step('Code Forge no longer accepts it, as when its time is over', async () => {
    check((await codeForge.endAccessTokens(ALICE.forgeAccount)) > 0, 'there was no access token');
  });
  const before = codeForge.refreshes();
  await report.step('Two calls at once still list her repositories; nobody is asked', async () => {
    for (const text of await Promise.all([alice.call('list_repositories'), alice.call('list_repositories')]))
      checkRepositories(text, ALICE, BOB);
  });
  await report.step('Code Forge was asked for new tokens exactly once', async () => {
    checkEqual(codeForge.refreshes() - before, 1, 'refreshes');
  });
}

async function aliceDisconnects({ report, world, log }: Stage, alice: Actor): Promise<void> {
  report.chapter('Alice looks after her connections');
  const { codeForge } = world;
  await report.step('At /me she sees her account at Code Forge, who may use it, and which tool did last', async () => {
    const { browser } = alice;
    checkEqual(await browser.open(`${world.posternUrl}/me`), 200, 'status');
    await browser.see('Your connections');
    const page = await browser.everything();
    for (const trace of [ALICE.forgeAccount, MCP_SERVER_NAME, forgeScopes.repo, 'list_repositories'])
      check(page.includes(trace), `the page does not say “${trace}”`);
    check(!page.includes(BOB.forgeAccount), 'the page tells about Bob');
  });
  await report.step(
    'She disconnects it; from then on Code Forge accepts none of her tokens, and still Bob’s',
    async () => {
      check((await codeForge.liveTokens(ALICE.forgeAccount)) > 0, 'there was nothing to end');
      await alice.disconnect();
      checkEqual(await codeForge.liveTokens(ALICE.forgeAccount), 0, 'tokens of Alice that Code Forge accepts');
      check((await codeForge.liveTokens(BOB.forgeAccount)) > 0, 'Bob’s tokens have ended as well');
      check(log.text().includes('connection.disconnected'), 'there is no audit event of it');
    },
  );
  const { question, matchCode, result } = await report.step('Her next call asks her again, with a new URL', () =>
    alice.callAndBeAsked('list_repositories'),
  );
  await report.step('This time she declines, and the call says so', async () => {
    await alice.browser.open(question.url);
    await alice.browser.read(matchCode);
    await alice.decline();
    const { text, isError } = await result();
    check(isError && /declined/.test(text), 'the result does not say that she declined');
  });
}

/** Canaries: the provider knows its secrets, and none of them may have been seen anywhere else. */
async function nothingLeaked({ report, world, frames, log }: Stage): Promise<void> {
  report.chapter('What the MCP clients and the model have seen');
  const secrets = [...world.codeForge.issuedSecrets()];
  const seen = frames.frames.join('\n');
  await report.step(
    `Code Forge issued ${secrets.length} codes and tokens, and its API was called with them`,
    async () => {
      // Two people: each a code, an access token and a refresh token; one of them a second generation. Five listings.
      check(secrets.length >= 8, 'too few for this to prove anything');
      checkEqual(world.codeForge.authorizedCalls(), 5, 'API calls');
    },
  );
  await report.step(
    `None of them is in the ${frames.frames.length} MCP messages of both hosts (${kib(seen)} KiB)`,
    async () => {
      check(seen.includes('alice-codes/garden-planner'), 'the messages were not recorded');
      check(!secrets.some(secret => seen.includes(secret)), 'a secret of the provider went over MCP');
    },
  );
  await report.step(`None of them is in the log of the gateway (${kib(log.text())} KiB)`, async () => {
    check(log.text().includes('"event"'), 'the log was not recorded');
    check(!secrets.some(secret => log.text().includes(secret)), 'a secret of the provider was logged');
  });
}

function checkRepositories(text: string, owner: Role, other: Role): void {
  check(text.includes(`${owner.forgeAccount}/`), `there are no repositories of ${owner.name}`);
  check(!text.includes(`${other.forgeAccount}/`), `there are repositories of ${other.name}`);
}

const kib = (text: string): string => (Buffer.byteLength(text) / 1024).toFixed(1);
