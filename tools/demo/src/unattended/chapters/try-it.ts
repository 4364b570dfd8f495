import { startConstellation } from '../../constellation.ts';
import { choosePorts } from '../../ports.ts';
import { HeadlessPerson } from '../headless-browser.ts';
import { check } from '../report.ts';
import { ALICE, type Stage } from '../stage.ts';

/** A visitor plays Alice on the page of a demo of their own, with nothing but a browser. */
export async function tellOfTryIt({ report, chromium, log }: Stage): Promise<void> {
  await using world = await startConstellation({ ports: await choosePorts(), log: log.destination });
  await using visitor = await HeadlessPerson.sitDown(chromium);
  await using tab = await visitor.openTab();

  await report.step('A visitor tries “Connect an account”, and signs in as Alice', async () => {
    await visitor.open(world.tryItUrl);
    await visitor.press('Try it: Connect an account');
    await tab.open(await visitor.linkTo('Sign in'));
    await tab.press(`Continue as ${ALICE.name}`);
    await tab.press('Allow');
    await tab.read('Signed in.');
  });
  await report.step('The page of Postern connects the account, and the page shows the repositories', async () => {
    await tab.open(await visitor.linkTo('Open the page'));
    if (world.offers('identity_login')) await tab.follow('Continue to sign-in');
    await tab.press('Continue');
    await tab.press(`Continue as ${ALICE.forgeAccount}`);
    await tab.press('Allow');
    await tab.see(/Your .*Code Forge.* account is connected/);
    await visitor.read('alice-codes/garden-planner');
  });
  await report.step('The visitor approves a payment, and the page shows the purchase', async () => {
    await visitor.press('Try it: Approve a payment');
    await tab.open(await visitor.linkTo('Open the page', 1));
    await tab.press(/^Approve/);
    await tab.see(/You approved a payment of €/);
    await visitor.read(/approved by button/);
  });
  await report.step('The page says that no secret is in the MCP messages and events', async () => {
    await visitor.read(/ 0 of them are in the \d+ MCP messages/);
    check(world.codeForge.issuedSecrets().size > 0, 'there was no secret to find');
  });
}
