import { z } from 'zod/v4';
import type { GateContext } from '../ask/verbs.ts';
import { CapabilityMissingError } from '../errors.ts';
import { TYPED_SECRET } from './contract-results.ts';

export const terms = {
  payee: { name: 'Book Shop' },
  amount: { currency: 'EUR', minorUnits: 2490 },
  reference: 'A-17',
};
const apiKey = { name: 'acme', title: 'API key of Acme', fields: [{ name: 'key', label: 'API key' }] } as const;
const release = z.object({ branch: z.string().min(1).max(5000), notify: z.boolean().default(true) });

/** The work that `pay_beside` does while the user is asked. */
export const beside = { work: Promise.resolve() };

/** What handlers do that are not deterministic, or do not await. */
export const effects: string[] = [];
let runs = 0;

type Script = (gate: GateContext) => Promise<string>;

const receiptOf = (answered: { action: string; receipt?: string; reason?: string }) =>
  answered.receipt ?? `${answered.action}: ${answered.reason}`;

/** One script for each kind. Returns how it ended, and its result. */
const kinds = {
  async authorize(gate) {
    const github = await gate.try.authorize('github');
    return github.action === 'accept' ? `accept ${github.connectionId}` : `${github.action}: ${github.reason}`;
  },
  async pay(gate) {
    const payment = await gate.try.pay(terms);
    return payment.action === 'accept'
      ? `accept ${payment.receipt} ${payment.processor} ${payment.approval.method}`
      : `${payment.action}: ${payment.reason}`;
  },
  async confirm(gate) {
    const yes = await gate.try.confirm('Delete repository acme/app');
    return yes.action === 'accept' ? `accept ${yes.receipt}` : `${yes.action}: ${yes.reason}`;
  },
  async credential(gate) {
    const acme = await gate.try.credential(apiKey);
    return acme.action === 'accept'
      ? `accept ${acme.values.key === `${TYPED_SECRET}-key`}`
      : `${acme.action}: ${acme.reason}`;
  },
  async form(gate) {
    const answered = await gate.try.form(release, { title: 'Release' });
    return answered.action === 'accept'
      ? `accept ${answered.content.branch} ${answered.content.notify} by ${answered.by}`
      : `${answered.action}: ${answered.reason}`;
  },
} satisfies Record<string, Script>;

/** Handlers that ask several times, or behave unusually. */
const stories = {
  async pay_then_confirm(gate) {
    const payment = await gate.try.pay(terms);
    const yes = await gate.try.confirm('Send it');
    return `${receiptOf(payment)} ${receiptOf(yes)}`;
  },
  async confirm_for_one_run(gate) {
    return (await gate.confirm('Delete it', { singleUse: true })).receipt;
  },
  async pay_once(gate) {
    const payment = await gate.try.pay(terms);
    return payment.action === 'accept' ? `${payment.receipt} ${payment.idempotencyKey}` : payment.action;
  },
  async confirm_twice(gate) {
    const first = await gate.try.confirm('Send it');
    const second = await gate.try.confirm('Send it');
    return `${receiptOf(first)} ${receiptOf(second)}`;
  },
  async at_once(gate) {
    const [payment, yes] = await Promise.all([gate.try.pay(terms), gate.try.confirm('Send it')]);
    return `${receiptOf(payment)} ${receiptOf(yes)}`;
  },
  async pay_beside(gate) {
    const [payment] = await Promise.all([gate.try.pay(terms), beside.work]);
    return receiptOf(payment);
  },
  async started_at_once(gate) {
    const payment = gate.try.pay(terms);
    const form = gate.try.form(release);
    const yes = gate.try.confirm('Send it');
    const said = receiptOf(await payment);
    return `${said} ${(await form).action} ${receiptOf(await yes)}`;
  },
  async form_then_confirm(gate) {
    const answered = await gate.try.form(release);
    const yes = await gate.try.confirm('Release it');
    const said = answered.action === 'accept' ? answered.content.branch.slice(0, 20) : answered.reason;
    return `${said} ${receiptOf(yes)}`;
  },
  async pay_then_unknown(gate) {
    const payment = await gate.try.pay(terms);
    if (payment.action === 'accept') await gate.try.authorize('unknown');
    return payment.action;
  },
  async pay_then_throw(gate) {
    const payment = await gate.try.pay(terms);
    if (payment.action === 'accept') throw new Error('the shop is closed');
    return payment.action;
  },
  async in_time(gate) {
    const yes = await gate.try.confirm('Send it', { answerWithinMs: 0 });
    return receiptOf(yes);
  },
  async form_in_time(gate) {
    const answered = await gate.try.form(release, { answerWithinMs: 0 });
    return answered.action;
  },
  async changes_title(gate) {
    runs += 1;
    return receiptOf(await gate.try.confirm(`Send it, run ${runs}`));
  },
  async changes_reference(gate) {
    runs += 1;
    return receiptOf(await gate.try.pay({ ...terms, reference: `order-${runs}` }));
  },
  async same_reference(gate) {
    const payment = await gate.pay({ ...terms, reference: gate.id('order') });
    return `${payment.receipt} ${gate.id('order')} ${gate.id('other') === gate.id('order')} ${gate.now()}`;
  },
  async for_each(gate) {
    for (const item of ['a', 'b'])
      void (async () => {
        await gate.confirm(`Delete ${item}`);
        effects.push(item);
      })();
    return 'done';
  },
  async goes_on(gate) {
    try {
      return receiptOf(await gate.try.confirm('Send it'));
    } catch (error) {
      if (error instanceof CapabilityMissingError) return 'went on without';
      throw error;
    }
  },
  async secret_form(gate) {
    const answered = await gate.try.form(release, { secretFields: ['branch'] });
    return answered.action === 'accept' ? `accept by ${answered.by}` : answered.reason;
  },
  async url_of_hosts(gate) {
    return (await gate.form(z.object({ page: z.url({ hostname: /^[a-z]+$/ }) }))).by;
  },
  async piped(gate) {
    const field = z.string().transform(text => text.trim());
    return (await gate.form(z.object({ branch: field.pipe(z.string().regex(/^[a-z]+$/)) }))).by;
  },
  async password_form(gate) {
    return (await gate.form(z.object({ user: z.string(), password: z.string() }))).by;
  },
  async asks_for_a_key(gate) {
    return (await gate.form.text('What is your API key?')).by;
  },
  async pin_form(gate) {
    return (await gate.form(z.object({ pin: z.int() }))).by;
  },
  async no_secret_form(gate) {
    return (await gate.form(z.object({ token: z.string() }), { secretFields: [] })).by;
  },
  async long_form(gate) {
    const names = ['first', 'second', 'third', 'last', 'fifth'];
    const answered = await gate.try.form(z.object(Object.fromEntries(names.map(name => [name, z.string()]))));
    if (answered.action !== 'accept') return answered.reason;
    return `${Object.values(answered.content).join('').length} by ${answered.by}`;
  },
  async titled_form(gate) {
    const option = (value: string, title: string) => z.literal(value).meta({ title });
    const sizes = z.union([option('s', 'Small'), option('l', 'Large')]);
    const answered = await gate.try.form(z.object({ size: sizes }));
    return answered.action === 'accept' ? `${answered.content.size} by ${answered.by}` : answered.reason;
  },
  async several_form(gate) {
    const answered = await gate.try.form(z.object({ sizes: z.array(z.enum(['s', 'l'])) }));
    return answered.action === 'accept' ? `${answered.content.sizes.join()} by ${answered.by}` : answered.reason;
  },
  async pattern_form(gate) {
    const answered = await gate.try.form(z.object({ code: z.string().regex(/^[A-Z]{2}$/) }));
    return answered.action === 'accept' ? `${answered.content.code} by ${answered.by}` : answered.reason;
  },
  async shorthands(gate) {
    const branch = await gate.try.form.text('Which branch?');
    const notify = await gate.try.form.yesNo('Tell everybody?');
    const size = await gate.try.form.choice('How big?', ['minor', 'major']);
    return [branch, notify, size].map(one => (one.action === 'accept' ? one.value : one.reason)).join(' ');
  },
  async lasting(gate) {
    const acme = await gate.try.credential({ ...apiKey, retention: 'lasting' });
    return acme.action === 'accept' ? `accept ${acme.values.key}` : acme.reason;
  },
  async lasting_rejected(gate) {
    const acme = await gate.try.credential({ ...apiKey, retention: 'lasting' });
    if (acme.action !== 'accept') return acme.reason;
    if (acme.values.key === 'good') return `accept ${await acme.read().then(values => values.key)}`;
    const again = await acme.rejected();
    return again.action === 'accept' ? `again ${again.values.key}` : again.reason;
  },
  async lasting_removed(gate) {
    const acme = await gate.try.credential({ ...apiKey, retention: 'lasting' });
    if (acme.action !== 'accept') return acme.reason;
    await acme.remove();
    await acme.remove();
    return 'removed';
  },
} satisfies Record<string, Script>;

export type KindScript = keyof typeof kinds;
export const kindScripts = Object.keys(kinds) as KindScript[];
export const scripts: Readonly<Record<string, Script>> = { ...kinds, ...stories };
