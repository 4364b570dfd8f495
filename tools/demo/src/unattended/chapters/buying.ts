import type { Actor } from '../actor.ts';
import { check, checkEqual } from '../report.ts';
import type { Cast, Stage } from '../stage.ts';

const APPROVE = /Desk Helper asks you to approve a payment/;
const APPROVED = /You approved a payment of €/;

export async function tellOfBuying(stage: Stage, { alice, bob }: Cast): Promise<void> {
  await aliceBuys(stage, alice);
  await aliceBuysWithPasskey(stage, alice);
  await aliceDeclines(stage, alice);
  await bobBuys(stage, bob);
}

async function aliceBuys({ report, world, frames }: Stage, alice: Actor): Promise<void> {
  const { browser } = alice;
  const { call, page } = await report.step('Alice’s host calls buy_book and gets a URL to approve €12.50', () =>
    alice.startAndBeAsked('buy_book', { book: 'small-doors' }),
  );
  await report.step('The page names payee, item, amount and reference; she approves in two tabs', async () => {
    await alice.open(page, APPROVE);
    for (const fact of ['Corner Bookshop', 'An Atlas of Small Doors', '€12.50', 'Order of small-doors'])
      await browser.read(fact);
    await using secondTab = await browser.openTab();
    await secondTab.open(page.url);
    const tabs = [browser, secondTab];
    await Promise.all(tabs.map(tab => tab.press('Approve')));
    await Promise.all(tabs.map(tab => tab.see(APPROVED)));
  });
  const text = await report.step('The tool has verified the signed receipt and charged once', async () => {
    const answer = await call.success();
    check(answer.includes('€12.50, approved by button'), 'the result does not say what was bought');
    checkCharges(world, alice, [1250]);
    return answer;
  });
  await report.step('The network repeats the call, which returns the same result without a second charge', async () => {
    const repeated = await frames.repeatLastCall();
    check(repeated.includes(JSON.stringify(text)), 'the repeated call had another result');
    checkCharges(world, alice, [1250]);
  });
}

async function aliceBuysWithPasskey({ report, world }: Stage, alice: Actor): Promise<void> {
  const { browser } = alice;
  const { call, page } = await report.step(
    'She orders a first edition for €240.00, too much to approve with a button',
    () => alice.startAndBeAsked('buy_book', { book: 'first-edition' }),
  );
  const hasSignIn = world.offers('identity_login');
  const first = hasSignIn ? 'signs in again, ' : '';
  await report.step(`The page requires a passkey; she ${first}adds one and approves with it`, async () => {
    await browser.addPasskeyDevice();
    await alice.open(page, APPROVE);
    await browser.press('Approve with passkey');
    if (hasSignIn) {
      await browser.follow('Continue to sign-in');
      await browser.press(`Continue as ${alice.role.name}`);
      await browser.see(APPROVE);
      await browser.press('Approve with passkey');
    }
    await browser.see(/Add a passkey to approve €240.00/);
    await browser.press('Add a passkey');
    await browser.see(/Approve €240.00 with your passkey/);
    await browser.press('Use passkey');
    await browser.see(APPROVED);
  });
  await report.step('The receipt names the passkey, and the ledger has the charge', async () => {
    check((await call.success()).includes('approved by passkey'), 'the receipt does not name the passkey');
    checkCharges(world, alice, [1250, 24_000]);
  });
}

async function aliceDeclines({ report, world }: Stage, alice: Actor): Promise<void> {
  const { call, page } = await report.step(
    'She orders the first book again: its approval is used up, so she gets a new URL',
    () => alice.startAndBeAsked('buy_book', { book: 'small-doors' }),
  );
  await report.step('She declines; the call returns that, without a charge', async () => {
    await alice.open(page, APPROVE);
    await alice.decline();
    await call.declined();
    checkCharges(world, alice, [1250, 24_000]);
  });
}

async function bobBuys({ report, world }: Stage, bob: Actor): Promise<void> {
  const { call, page } = await report.step('Bob’s host calls buy_book and is asked to open a URL', () =>
    bob.startAndBeAsked('buy_book', { book: 'wrong-keys' }),
  );
  await report.step('He approves €9.90; the waiting call goes on, and the shop charges once', async () => {
    await bob.open(page, APPROVE);
    await bob.browser.press('Approve');
    await bob.browser.see(APPROVED);
    check((await call.success()).includes('€9.90'), 'the result does not say what was bought');
    checkCharges(world, bob, [990]);
  });
}

function checkCharges({ ledger }: Stage['world'], { role }: Actor, cents: readonly number[]): void {
  const charged = ledger.purchasesOf(role.id).map(purchase => purchase.cents);
  checkEqual(charged.join(), cents.join(), `charges of ${role.name} in cents`);
}
