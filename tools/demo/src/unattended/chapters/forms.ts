import { randomBytes } from 'node:crypto';
import type { Actor } from '../actor.ts';
import { check, checkEqual } from '../report.ts';
import type { Cast, Stage } from '../stage.ts';

export async function tellOfForms({ report, world, frames, typed }: Stage, { alice, bob }: Cast): Promise<void> {
  await report.step(
    'Alice’s host calls recommend_book, shows the form itself, and gets a book (input_required)',
    async () => {
      check((await beRecommended(alice, 'quiet', 20)).includes('small-doors'), 'another book was recommended');
    },
  );
  await report.step('Bob’s host gets the same form pushed (elicitation/create)', async () => {
    check((await beRecommended(bob, 'thrilling', 20)).includes('night-watch'), 'another book was recommended');
    check(
      frames.frames.some(frame => frame.includes('"mood":"thrilling"')),
      'his answer did not go over MCP',
    );
  });

  const { call, page } = await report.step('reserve_locker also asks for a secret, so Alice gets a URL', () =>
    alice.startAndBeAsked('reserve_locker'),
  );
  await report.step('Alice enters day and code on the page; the code opens her locker', async () => {
    const { browser } = alice;
    const code = randomBytes(9).toString('base64url');
    typed.add(code);
    await alice.open(page, 'Desk Helper asks you a few questions');
    await browser.fill('Day', '2030-05-17');
    await browser.fill('Code for the locker', code);
    await browser.press('Send');
    await browser.see('You answered');
    check((await call.success()).includes('2030-05-17'), 'the day did not arrive');
    check(world.pickupDesk.opens('alice', code), 'the code did not arrive');
    check(!world.pickupDesk.opens('alice', `${code}x`), 'a wrong code opens the locker');
  });
}

/** Answers the form in the host as the user. */
async function beRecommended(actor: Actor, mood: string, budget: number): Promise<string> {
  const call = actor.start('recommend_book');
  const { form, answer } = await call.form();
  checkEqual(Object.keys(form.requestedSchema.properties).join(), 'mood,budget', 'fields of the form');
  answer({ action: 'accept', content: { mood, budget } });
  return await call.success();
}
