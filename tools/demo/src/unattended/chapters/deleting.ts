import type { Actor } from '../actor.ts';
import { check } from '../report.ts';
import type { Cast, Stage } from '../stage.ts';

const CONFIRM = 'Desk Helper asks you to confirm a step';
const CONNECT = /Desk Helper .* Code Forge/;

export async function tellOfDeleting({ report }: Stage, { alice, bob }: Cast): Promise<void> {
  const asked = await report.step('Alice’s host calls delete_repository and gets a URL to confirm it', () =>
    alice.startAndBeAsked('delete_repository', { repository: 'alice-codes/tiny-parser' }),
  );
  await report.step('The page names the repository and says that this cannot be undone; she confirms', () =>
    confirm(alice, asked.page, 'alice-codes/tiny-parser'),
  );
  await report.step('A second URL arrives; she connects Code Forge with the permission to delete', async () => {
    await alice.open(await asked.call.page(), CONNECT);
    await alice.browser.read('Delete your repositories');
    await alice.connectForge({ isKnownThere: true });
  });
  await report.step('The repository is deleted, and only this one', async () => {
    check((await asked.call.success()).includes('tiny-parser is deleted'), 'the repository was not deleted');
    await checkRest(alice, { gone: 'tiny-parser', stays: 'garden-planner' });
  });

  await report.step('Bob does the same: his host is asked to open each URL, while the call waits', async () => {
    const { call, page } = await bob.startAndBeAsked('delete_repository', { repository: 'bob-builds/tree-house' });
    await confirm(bob, page, 'bob-builds/tree-house');
    await bob.open(await call.page(), CONNECT);
    await bob.connectForge({ isKnownThere: true });
    check((await call.success()).includes('tree-house is deleted'), 'the repository was not deleted');
    await checkRest(bob, { gone: 'tree-house', stays: 'birthday-surprise' });
  });
}

async function confirm(actor: Actor, page: Parameters<Actor['open']>[0], repository: string): Promise<void> {
  await actor.open(page, CONFIRM);
  await actor.browser.read(repository);
  await actor.browser.read(/cannot be undone/);
  await actor.browser.press('Confirm: Delete repository');
  await actor.browser.see('You confirmed');
}

async function checkRest(actor: Actor, { gone, stays }: { gone: string; stays: string }): Promise<void> {
  const list = await actor.call('list_repositories');
  check(!list.includes(gone), `${gone} was not deleted`);
  check(list.includes(stays), `${stays} was deleted too`);
}
