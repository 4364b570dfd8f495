import { forgeScopes } from '../../code-forge/code-forge.ts';
import { MCP_SERVER_NAME } from '../../constellation.ts';
import type { Role } from '../actor.ts';
import { HeadlessPerson } from '../headless-browser.ts';
import { check, checkEqual } from '../report.ts';
import { ALICE, BOB, type Cast, type Stage } from '../stage.ts';

const CONNECT = /Desk Helper .* Code Forge/;

export async function aliceConnects({ report }: Stage, { alice }: Cast): Promise<void> {
  const { call, page } = await report.step(
    'Alice’s host calls list_repositories and gets a URL of Postern (input_required)',
    () => alice.startAndBeAsked('list_repositories'),
  );
  await report.step(`She opens it, and sees the match code of her host: ${page.matchCode}`, () =>
    alice.arrive(page, CONNECT),
  );
  await report.step('She accepts, signs in and consents at Code Forge, and returns to “connected”', () =>
    alice.connectForge({ isKnownThere: false }),
  );
  await report.step('The waiting call returns her repositories', async () => {
    checkRepositories(await call.success(), ALICE, BOB);
  });
  await report.step('A second call returns immediately without asking', async () => {
    checkRepositories(await alice.call('list_repositories'), ALICE, BOB);
  });
}

export async function bobConnects({ report, frames }: Stage, { bob }: Cast): Promise<void> {
  const { call, page } = await report.step(
    'Bob’s host is asked to open a URL (elicitation/create): he cannot use Alice’s connection',
    async () => {
      const asked = await bob.startAndBeAsked('list_repositories');
      check(
        frames.frames.some(frame => frame.includes('"method":"elicitation/create"')),
        'the host got no elicitation/create',
      );
      return asked;
    },
  );
  await report.step(`He opens it, and sees the match code ${page.matchCode}`, () => bob.arrive(page, CONNECT));
  await report.step('He accepts and connects his own account at Code Forge', () =>
    bob.connectForge({ isKnownThere: false }),
  );
  await report.step('The completion notification arrives, and the waiting call lists Bob’s repositories', async () => {
    checkRepositories(await call.success(), BOB, ALICE);
    const notice = '"method":"notifications/elicitation/complete"';
    check(
      frames.frames.some(frame => frame.includes(notice)),
      'the host got no completion notification',
    );
  });
}

export async function bobOpensAliceLink({ report, world, chromium, log }: Stage, { alice, bob }: Cast): Promise<void> {
  const { call, page } = await report.step(
    'Alice’s host calls create_issue, which needs another permission, and gets a new URL',
    () =>
      alice.startAndBeAsked('create_issue', {
        repository: 'alice-codes/garden-planner',
        title: 'Plant more tomatoes',
      }),
  );
  const elicitationId = new URL(page.url).pathname.split('/').at(-1) ?? '';
  await report.step(
    'Bob’s browser opens it and gets a 403; the page does not mention Alice or the request',
    async () => {
      checkEqual(await bob.browser.open(page.url), 403, 'status');
      await bob.browser.see('This request is for another account');
      const forgeHost = new URL(world.codeForge.issuer).host;
      const traces = ['alice', 'codes', MCP_SERVER_NAME, 'Code Forge', forgeHost, page.matchCode, 'issue'];
      await checkSilent(bob.browser, traces);
      check(log.text().includes('wrong_person'), 'the audit event is missing');
    },
  );
  await report.step('A browser without a session sees only the sign-in page', async () => {
    await using stranger = await HeadlessPerson.sitDown(chromium);
    checkEqual(await stranger.open(page.url), 200, 'status');
    await checkSilent(stranger, ['alice', MCP_SERVER_NAME, 'Code Forge', page.matchCode]);
  });
  await report.step('Alice’s link still works; she declines on the page', async () => {
    await alice.open(page, CONNECT);
    await alice.decline();
  });
  await report.step('The waiting call returns that she declined; no issue was created', async () => {
    check(!(await call.declined()).includes(elicitationId), 'the result repeats the link');
    checkEqual(world.codeForge.authorizedCalls(), 3, 'API calls at Code Forge');
  });
}

export async function aliceStaysConnected({ report, world: { codeForge } }: Stage, { alice }: Cast): Promise<void> {
  await report.step('Code Forge rejects it, as after its expiry', async () => {
    check((await codeForge.endAccessTokens(ALICE.forgeAccount)) > 0, 'Code Forge had no access token of Alice');
  });
  const before = codeForge.refreshes();
  await report.step('Two concurrent calls still list her repositories without asking', async () => {
    for (const text of await Promise.all([alice.call('list_repositories'), alice.call('list_repositories')]))
      checkRepositories(text, ALICE, BOB);
  });
  await report.step('Postern refreshed the tokens exactly once', async () => {
    checkEqual(codeForge.refreshes() - before, 1, 'refreshes');
  });
}

export async function aliceDisconnects({ report, world, log }: Stage, { alice }: Cast): Promise<void> {
  const { codeForge } = world;
  const { browser } = alice;
  await report.step(
    'At /me she sees her account at Code Forge, who may use it, and the tool that used it last',
    async () => {
      checkEqual(await browser.open(`${world.posternUrl}/me`), 200, 'status');
      await browser.see('Your account');
      const document = await browser.everything();
      for (const trace of [ALICE.forgeAccount, MCP_SERVER_NAME, forgeScopes.repo.text, 'list_repositories'])
        check(document.includes(trace), `the page does not say “${trace}”`);
      check(!document.includes(BOB.forgeAccount), 'the page mentions Bob');
    },
  );
  await report.step('She disconnects it; Code Forge then rejects all her tokens and still accepts Bob’s', async () => {
    check((await codeForge.liveTokens(ALICE.forgeAccount)) > 0, 'Code Forge had no tokens of Alice');
    await browser.unfold('Code Forge');
    await browser.follow(/^Disconnect /);
    await browser.see(/Disconnect your .*Code Forge/);
    await browser.press('Disconnect');
    await browser.see(/Your .*Code Forge.* account is disconnected/);
    await browser.read('the access has ended there too');
    checkEqual(await codeForge.liveTokens(ALICE.forgeAccount), 0, 'tokens of Alice that Code Forge accepts');
    check((await codeForge.liveTokens(BOB.forgeAccount)) > 0, 'Code Forge rejects Bob’s tokens too');
    check(log.text().includes('connection.disconnected'), 'the audit event is missing');
  });
  const { call, page } = await report.step('Her next call gets a new URL', () =>
    alice.startAndBeAsked('list_repositories'),
  );
  await report.step('This time she declines, and the call returns that', async () => {
    await alice.open(page, CONNECT);
    await alice.decline();
    await call.declined();
  });
}

function checkRepositories(text: string, owner: Role, other: Role): void {
  check(text.includes(`${owner.forgeAccount}/`), `the repositories of ${owner.name} are missing`);
  check(!text.includes(`${other.forgeAccount}/`), `the list has repositories of ${other.name}`);
}

async function checkSilent(browser: HeadlessPerson, traces: readonly string[]): Promise<void> {
  const document = (await browser.everything()).toLowerCase();
  for (const trace of traces) check(!document.includes(trace.toLowerCase()), `the page says “${trace}”`);
}
