import { operator } from '../../identity-provider.ts';
import { HeadlessPerson } from '../headless-browser.ts';
import { check, checkEqual } from '../report.ts';
import { ALICE, type Stage } from '../stage.ts';

/** Olivia operates the gateway. She sees what happened, and no secret of the others. */
export async function tellOfOperating({ report, world, chromium, typed }: Stage): Promise<void> {
  await using olivia = await HeadlessPerson.sitDown(chromium);
  await report.step('Alice has no role, so the console shows her nothing', async () => {
    await using alice = await HeadlessPerson.sitDown(chromium);
    await alice.open(world.consoleUrl);
    await alice.follow('Sign in');
    await alice.press(`Continue as ${ALICE.name}`);
    await alice.see('You have no role here');
  });
  await report.step('Olivia signs in, and sees what ended', async () => {
    await olivia.open(world.consoleUrl);
    await olivia.follow('Sign in');
    await olivia.press(`Continue as ${operator.name}`);
    await olivia.see('Overview');
    await olivia.follow('Elicitations');
    await olivia.open(`${world.consoleUrl}/elicitations?phase=ended&kind=payment`);
    check((await olivia.everything()).includes('status good'), 'no completed payment is listed');
  });
  await report.step('The pages with connections and credentials contain none of the typed secrets', async () => {
    for (const path of ['/connections', '/credentials']) {
      checkEqual(await olivia.open(`${world.consoleUrl}${path}`), 200, `status of ${path}`);
      const shown = await olivia.everything();
      checkEqual([...typed].filter(secret => shown.includes(secret)).length, 0, `typed secrets on ${path}`);
    }
  });
}
