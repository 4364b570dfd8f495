import { type IssueElicitationInput, issueElicitationSchema } from '@postern/api';
import { describe, expect, it } from 'vitest';
import { assertHonestNames } from './assert-honest-names.ts';
import { createRegisteredNames } from './registered-names.ts';

const names = createRegisteredNames([{ path: 'providers[0].displayName', text: 'GitHub' }]);
const subject = { issuer: 'https://id.example', subject: 'alice' };
const LIE = 'GіtHub';

const confirmation = { kind: 'confirmation', subject, confirmation: { title: 'Yes' } } as const;
const credential = { name: 'key', title: 'Key', fields: [{ name: 'key', label: 'Key' }] };
const form = (property: object) => ({
  ...{ kind: 'form', subject },
  form: { requestedSchema: { type: 'object', properties: { a: { type: 'string', ...property } } } },
});
const payment = { payee: { name: 'Shop' }, amount: { currency: 'EUR', minorUnits: 1 }, reference: '1' };

async function pathOf(ask: object): Promise<unknown> {
  const request = issueElicitationSchema.parse(ask as IssueElicitationInput);
  try {
    await assertHonestNames(names, 'tracker', request);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: 'confusable_name' });
    return (error as { errors: { path: string }[] }).errors[0]?.path;
  }
}

describe('S74: an ask that imitates a provider', () => {
  it.each([
    ['body.message', { ...confirmation, message: `From ${LIE}` }],
    ['body.requestedBy.mcpClient', { ...confirmation, requestedBy: { mcpClient: 'ɢɪᴛʜᴜʙ' } }],
    ['body.requestedBy.tool', { ...confirmation, requestedBy: { tool: LIE } }],
    ['body.confirmation.title', { ...confirmation, confirmation: { title: LIE } }],
    [
      'body.confirmation.facts.0.label',
      { ...confirmation, confirmation: { title: 'x', facts: [{ type: 'text', label: LIE, value: 'x' }] } },
    ],
    [
      'body.confirmation.facts.0.value',
      { ...confirmation, confirmation: { title: 'x', facts: [{ type: 'text', label: 'x', value: LIE }] } },
    ],
    ['body.payment.payee.name', { kind: 'payment', subject, payment: { ...payment, payee: { name: 'ＧｉｔＨｕｂ' } } }],
    ['body.payment.reference', { kind: 'payment', subject, payment: { ...payment, reference: LIE } }],
    [
      'body.payment.items.0.label',
      { kind: 'payment', subject, payment: { ...payment, items: [{ label: LIE, unitMinorUnits: 1 }] } },
    ],
    ['body.credential.title', { kind: 'credential', subject, credential: { ...credential, title: `Key of ${LIE}` } }],
    [
      'body.credential.fields.0.label',
      { kind: 'credential', subject, credential: { ...credential, fields: [{ name: 'k', label: LIE }] } },
    ],
    [
      'body.credential.fields.0.help',
      { kind: 'credential', subject, credential: { ...credential, fields: [{ name: 'k', label: 'k', help: LIE }] } },
    ],
    ['body.form.requestedSchema.properties.a.title', form({ title: LIE })],
    ['body.form.requestedSchema.properties.a.description', form({ description: LIE })],
    ['body.form.requestedSchema.properties.a.enum.0', form({ enum: [LIE] })],
    ['body.form.requestedSchema.properties.a.enumNames.0', form({ enum: ['a'], enumNames: [LIE] })],
    ['body.form.requestedSchema.properties.a.oneOf.0.title', form({ oneOf: [{ const: 'a', title: LIE }] })],
    ['body.form.requestedSchema.properties.a.default', form({ default: LIE })],
    [undefined, { ...confirmation, message: 'From GitHub' }],
  ])('is refused at %s', async (path, ask) => {
    expect(await pathOf(ask)).toBe(path);
  });

  it('S66: gives other requests a turn while it examines long texts', async () => {
    const long = 'слово '.repeat(390);
    const properties = Object.fromEntries(
      Array.from({ length: 7 }, (_, at) => [`a${at}`, { type: 'string', default: long }]),
    );
    let turns = 0;
    let open = true;
    const count = (): void => {
      turns += 1;
      if (open) setImmediate(count);
    };
    setImmediate(count);
    await pathOf({ kind: 'form', subject, form: { requestedSchema: { type: 'object', properties } } });
    open = false;
    expect(turns).toBeGreaterThanOrEqual(7);
  });
});
