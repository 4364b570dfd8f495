import { z } from 'zod/v4';
import { CapabilityMissingError } from '../errors.ts';
import type { GateContext } from '../gate-context.ts';
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

type Script = (gate: GateContext) => Promise<string>;

const receiptOf = (answered: { action: string; receipt?: string; reason?: string }) =>
  answered.receipt ?? `${answered.action}: ${answered.reason}`;

/** One script for each kind. Returns how it ended, and its result. */
const kinds = {
  async authorize(gate) {
    const github = await gate.authorize('github');
    return github.action === 'accept' ? `accept ${github.connectionId}` : `${github.action}: ${github.reason}`;
  },
  async pay(gate) {
    const payment = await gate.pay(terms);
    return payment.action === 'accept'
      ? `accept ${payment.receipt} ${payment.processor} ${payment.approval.method}`
      : `${payment.action}: ${payment.reason}`;
  },
  async confirm(gate) {
    const yes = await gate.confirm('Delete repository acme/app');
    return yes.action === 'accept' ? `accept ${yes.receipt}` : `${yes.action}: ${yes.reason}`;
  },
  async credential(gate) {
    const acme = await gate.credential(apiKey);
    return acme.action === 'accept'
      ? `accept ${acme.values.key === `${TYPED_SECRET}-key`}`
      : `${acme.action}: ${acme.reason}`;
  },
  async form(gate) {
    const answered = await gate.form(release, { title: 'Release' });
    return answered.action === 'accept'
      ? `accept ${answered.content.branch} ${answered.content.notify} by ${answered.by}`
      : `${answered.action}: ${answered.reason}`;
  },
} satisfies Record<string, Script>;

/** Handlers that ask several times, or behave unusually. */
const stories = {
  async pay_then_confirm(gate) {
    const payment = await gate.pay(terms);
    const yes = await gate.confirm('Send it');
    return `${receiptOf(payment)} ${receiptOf(yes)}`;
  },
  async pay_once(gate) {
    const payment = await gate.pay(terms);
    return payment.action === 'accept' ? `${payment.receipt} ${payment.idempotencyKey}` : payment.action;
  },
  async confirm_twice(gate) {
    const first = await gate.confirm('Send it');
    const second = await gate.confirm('Send it');
    return `${receiptOf(first)} ${receiptOf(second)}`;
  },
  async at_once(gate) {
    const [payment, yes] = await Promise.all([gate.pay(terms), gate.confirm('Send it')]);
    return `${receiptOf(payment)} ${receiptOf(yes)}`;
  },
  async pay_beside(gate) {
    const [payment] = await Promise.all([gate.pay(terms), beside.work]);
    return receiptOf(payment);
  },
  async started_at_once(gate) {
    const payment = gate.pay(terms);
    const form = gate.form(release);
    const yes = gate.confirm('Send it');
    const said = receiptOf(await payment);
    return `${said} ${(await form).action} ${receiptOf(await yes)}`;
  },
  async form_then_confirm(gate) {
    const answered = await gate.form(release);
    const yes = await gate.confirm('Release it');
    const said = answered.action === 'accept' ? answered.content.branch.slice(0, 20) : answered.reason;
    return `${said} ${receiptOf(yes)}`;
  },
  async pay_then_unknown(gate) {
    const payment = await gate.pay(terms);
    if (payment.action === 'accept') await gate.authorize('unknown');
    return payment.action;
  },
  async pay_then_throw(gate) {
    const payment = await gate.pay(terms);
    if (payment.action === 'accept') throw new Error('the shop is closed');
    return payment.action;
  },
  async in_time(gate) {
    const yes = await gate.confirm('Send it', { answerWithinMs: 0 });
    return receiptOf(yes);
  },
  async form_in_time(gate) {
    const answered = await gate.form(release, { answerWithinMs: 0 });
    return answered.action;
  },
  async goes_on(gate) {
    try {
      return receiptOf(await gate.confirm('Send it'));
    } catch (error) {
      if (error instanceof CapabilityMissingError) return 'went on without';
      throw error;
    }
  },
  async secret_form(gate) {
    const answered = await gate.form(release, { secretFields: ['branch'] });
    return answered.action === 'accept' ? `accept by ${answered.by}` : answered.reason;
  },
  async long_form(gate) {
    const names = ['first', 'second', 'third', 'last', 'fifth'];
    const answered = await gate.form(z.object(Object.fromEntries(names.map(name => [name, z.string()]))));
    if (answered.action !== 'accept') return answered.reason;
    return `${Object.values(answered.content).join('').length} by ${answered.by}`;
  },
  async pattern_form(gate) {
    const answered = await gate.form(z.object({ code: z.string().regex(/^[A-Z]{2}$/) }));
    return answered.action === 'accept' ? `${answered.content.code} by ${answered.by}` : answered.reason;
  },
  async shorthands(gate) {
    const branch = await gate.form.text('Which branch?');
    const notify = await gate.form.yesNo('Tell everybody?');
    const size = await gate.form.choice('How big?', ['minor', 'major']);
    return [branch, notify, size].map(one => (one.action === 'accept' ? one.value : one.reason)).join(' ');
  },
  async lasting(gate) {
    const acme = await gate.credential({ ...apiKey, retention: 'lasting' });
    return acme.action === 'accept' ? `accept ${acme.values.key}` : acme.reason;
  },
  async lasting_rejected(gate) {
    const acme = await gate.credential({ ...apiKey, retention: 'lasting' });
    if (acme.action !== 'accept') return acme.reason;
    if (acme.values.key === 'good') return `accept ${await acme.read().then(values => values.key)}`;
    const again = await acme.rejected();
    return again.action === 'accept' ? `again ${again.values.key}` : again.reason;
  },
  async lasting_removed(gate) {
    const acme = await gate.credential({ ...apiKey, retention: 'lasting' });
    if (acme.action !== 'accept') return acme.reason;
    await acme.remove();
    await acme.remove();
    return 'removed';
  },
} satisfies Record<string, Script>;

export type KindScript = keyof typeof kinds;
export const kindScripts = Object.keys(kinds) as KindScript[];
export const scripts: Readonly<Record<string, Script>> = { ...kinds, ...stories };
