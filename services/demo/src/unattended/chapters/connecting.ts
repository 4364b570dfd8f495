import { forgeScopes } from '../../code-forge/code-forge.ts';
import { MCP_SERVER_NAME } from '../../constellation.ts';
import { Actor, type Role } from '../actor.ts';
import { HeadlessPerson } from '../headless-browser.ts';
import { check, checkEqual } from '../report.ts';
import { ALICE, BOB, type Cast, type Stage } from '../stage.ts';

const CONNECT = /Desk Helper .* Code Forge/;

export async function aliceConnects({ report, world, chromium, frames }: Stage): Promise<Actor> {
  report.chapter('Alice, with an MCP client of revision 2026-07-28');
  await using stack = new AsyncDisposableStack();
  const alice = stack.use(
    await report.step('Alice’s host connects; she signs in at Example ID in her browser', () =>
      Actor.enter({ role: ALICE, era: '2026-07-28', world, chromium, frames }),
    ),
  );
  const { call, page } = await report.step(
    'It calls list_repositories and is asked to open a URL of Postern (input_required)',
    () => alice.startAndBeAsked('list_repositories'),
  );
  await report.step(`She opens it, is recognised, and sees the same code as in her host: ${page.matchCode}`, () =>
    alice.arrive(page, CONNECT),
  );
  await report.step(
    'She accepts, leaves for Code Forge, signs in and allows there, and comes back to “connected”',
    () => alice.connectForge({ isKnownThere: false }),
  );
  await report.step('The call that was held all the while returns her repositories', async () => {
    checkRepositories(await call.success(), ALICE, BOB);
  });
  await report.step('A second call answers at once; nobody is asked', async () => {
    checkRepositories(await alice.call('list_repositories'), ALICE, BOB);
  });
  stack.move();
  return alice;
}

export async function bobConnects({ report, world, chromium, frames }: Stage): Promise<Actor> {
  report.chapter('Bob, with an MCP client of revision 2025-11-25');
  await using stack = new AsyncDisposableStack();
  const bob = stack.use(
    await report.step('Bob’s host connects; he signs in at Example ID in his own browser', () =>
      Actor.enter({ role: BOB, era: '2025-11-25', world, chromium, frames }),
    ),
  );
  const { call, page } = await report.step(
    'It calls list_repositories and is answered −32042 with a URL: Alice’s connection is not his',
    async () => {
      const asked = await bob.startAndBeAsked('list_repositories');
      check(
        frames.frames.some(frame => frame.includes('"code":-32042')),
        'there was no −32042',
      );
      return asked;
    },
  );
  await report.step(`He opens it, is recognised, and sees the code ${page.matchCode}`, () => bob.arrive(page, CONNECT));
  await report.step('He accepts and connects his own account at Code Forge', () =>
    bob.connectForge({ isKnownThere: false }),
  );
  await report.step('The completion notice arrives, the host calls again, and lists Bob’s repositories', async () => {
    checkRepositories(await call.success(), BOB, ALICE);
    const notice = '"method":"notifications/elicitation/complete"';
    check(
      frames.frames.some(frame => frame.includes(notice)),
      'there was no completion notice',
    );
  });
  stack.move();
  return bob;
}

export async function bobOpensAliceLink({ report, world, chromium, log }: Stage, { alice, bob }: Cast): Promise<void> {
  report.chapter('Bob opens a link that was meant for Alice');
  const { call, page } = await report.step(
    'Alice’s host calls create_issue, which needs a further permission; a new URL arrives',
    () =>
      alice.startAndBeAsked('create_issue', {
        repository: 'alice-codes/garden-planner',
        title: 'Plant more tomatoes',
      }),
  );
  const elicitationId = new URL(page.url).pathname.split('/').at(-1) ?? '';
  await report.step(
    'Bob’s browser opens it and is refused (403); the page says nothing about Alice or the request',
    async () => {
      checkEqual(await bob.browser.open(page.url), 403, 'status');
      await bob.browser.see('This request is for another account');
      const forgeHost = new URL(world.codeForge.issuer).host;
      const traces = ['alice', 'codes', MCP_SERVER_NAME, 'Code Forge', forgeHost, page.matchCode, 'issue'];
      await checkSilent(bob.browser, traces);
      check(log.text().includes('wrong_person'), 'there is no audit event of it');
    },
  );
  await report.step('Somebody who is not signed in is shown nothing but the way to sign in', async () => {
    await using stranger = await HeadlessPerson.sitDown(chromium);
    checkEqual(await stranger.open(page.url), 200, 'status');
    await checkSilent(stranger, ['alice', MCP_SERVER_NAME, 'Code Forge', page.matchCode]);
  });
  await report.step('Alice’s link still works; she declines on the page', async () => {
    await alice.open(page, CONNECT);
    await alice.decline();
  });
  await report.step('The held call reports that she declined; no issue was created', async () => {
    check(!(await call.declined()).includes(elicitationId), 'the result repeats the link');
    checkEqual(world.codeForge.authorizedCalls(), 3, 'API calls at Code Forge');
  });
}

export async function aliceStaysConnected({ report, world: { codeForge } }: Stage, { alice }: Cast): Promise<void> {
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

export async function aliceDisconnects({ report, world, log }: Stage, { alice }: Cast): Promise<void> {
  report.chapter('Alice looks after her connections');
  const { codeForge } = world;
  const { browser } = alice;
  await report.step('At /me she sees her account at Code Forge, who may use it, and which tool did last', async () => {
    checkEqual(await browser.open(`${world.posternUrl}/me`), 200, 'status');
    await browser.see('Your connections');
    const document = await browser.everything();
    for (const trace of [ALICE.forgeAccount, MCP_SERVER_NAME, forgeScopes.repo, 'list_repositories'])
      check(document.includes(trace), `the page does not say “${trace}”`);
    check(!document.includes(BOB.forgeAccount), 'the page tells about Bob');
  });
  await report.step(
    'She disconnects it; from then on Code Forge accepts none of her tokens, and still Bob’s',
    async () => {
      check((await codeForge.liveTokens(ALICE.forgeAccount)) > 0, 'there was nothing to end');
      await browser.follow('Disconnect');
      await browser.see(/Disconnect your .*Code Forge/);
      await browser.press('Disconnect');
      await browser.see(/Your .*Code Forge.* account is disconnected/);
      await browser.read('ended the access as well');
      checkEqual(await codeForge.liveTokens(ALICE.forgeAccount), 0, 'tokens of Alice that Code Forge accepts');
      check((await codeForge.liveTokens(BOB.forgeAccount)) > 0, 'Bob’s tokens have ended as well');
      check(log.text().includes('connection.disconnected'), 'there is no audit event of it');
    },
  );
  const { call, page } = await report.step('Her next call asks her again, with a new URL', () =>
    alice.startAndBeAsked('list_repositories'),
  );
  await report.step('This time she declines, and the call says so', async () => {
    await alice.open(page, CONNECT);
    await alice.decline();
    await call.declined();
  });
}

function checkRepositories(text: string, owner: Role, other: Role): void {
  check(text.includes(`${owner.forgeAccount}/`), `there are no repositories of ${owner.name}`);
  check(!text.includes(`${other.forgeAccount}/`), `there are repositories of ${other.name}`);
}

async function checkSilent(browser: HeadlessPerson, traces: readonly string[]): Promise<void> {
  const document = (await browser.everything()).toLowerCase();
  for (const trace of traces) check(!document.includes(trace.toLowerCase()), `the page says “${trace}”`);
}
