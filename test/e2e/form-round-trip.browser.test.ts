import { sharedBrowser } from '@postern/testkit/chromium';
import { inFull } from '@postern/testkit/in-full';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, visitorFor } from '../support/asks.ts';
import { newPerson, openSignedIn, type Person } from '../support/browser.ts';
import { startWorld, type World } from '../support/world.ts';

let browser: Browser;
let world: World;
beforeAll(async () => {
  [browser, world] = await Promise.all([
    sharedBrowser(),
    startWorld({ mcpServer: { limits: { elicitationsPerSubject: 1000 } } }),
  ]);
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

type Ask = Parameters<typeof issueFor>[2];
type FormAsk = Extract<Ask, { kind: 'form' }>['form'];
type Schema = FormAsk['requestedSchema'];

const field = (page: Page, name: string) => page.locator(`[name="field.${name}"]`);
const send = (page: Page) => page.locator('form[action$="/accept"] button').click();

async function opened(person: Person, form: FormAsk) {
  const { name, page } = person;
  const issued = await issueFor(world, name, { kind: 'form', form });
  await openSignedIn(person, world, issued);
  await page.locator('form[action$="/accept"]').waitFor();
  return issued;
}

const everything: Schema = {
  type: 'object',
  properties: {
    text: { type: 'string', title: 'Text', minLength: 2, maxLength: 10 },
    long: { type: 'string', maxLength: 1000 },
    email: { type: 'string', format: 'email' },
    link: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date' },
    moment: { type: 'string', format: 'date-time' },
    number: { type: 'number', minimum: -1.5, maximum: 1.5 },
    integer: { type: 'integer', minimum: -3 },
    yes: { type: 'boolean' },
    no: { type: 'boolean' },
    few: { type: 'string', enum: ['red', 'green'] },
    named: { type: 'string', enum: ['r', 'g'], enumNames: ['Red', 'Green'] },
    titled: {
      type: 'string',
      oneOf: [
        { const: '#f00', title: 'Red' },
        { const: '#0f0', title: 'Green' },
      ],
    },
    many: { type: 'string', enum: ['a', 'b', 'c', 'd', 'e', 'f', 'g'] },
    several: { type: 'array', items: { type: 'string', enum: ['x', 'y', 'z'] }, minItems: 1 },
    severalTitled: {
      type: 'array',
      items: {
        anyOf: [
          { const: '1', title: 'One' },
          { const: '2', title: 'Two' },
        ],
      },
    },
    left: { type: 'string' },
    leftNumber: { type: 'number' },
  },
  required: ['text', 'yes', 'several'],
};

describe('S34: a form that a user fills in', () => {
  it('returns every type of answer as typed, without JavaScript', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false });
    const { page } = person;
    const { elicitationId, url } = await opened(person, { title: 'Everything', requestedSchema: everything });
    await field(page, 'text').fill('  tëxt 🙂 ');
    await field(page, 'long').fill('first line\nsecond "line" <b>&amp;</b>');
    await field(page, 'email').fill('alice@example.com');
    await field(page, 'link').fill('https://example.com/a?b=c#d');
    await field(page, 'day').fill('2028-02-29');
    await page.locator('input[name="field.moment"]').fill('2026-12-31T23:59');
    await page.locator('select[name="field.moment"]').selectOption('+05:45');
    await field(page, 'number').fill('-0.125');
    await field(page, 'integer').fill('-3');
    await field(page, 'yes').check();
    await page.locator('[name="field.few"][value="green"]').check();
    await page.locator('[name="field.named"][value="g"]').check();
    await page.locator('[name="field.titled"][value="#0f0"]').check();
    await field(page, 'many').selectOption('f');
    for (const value of ['x', 'z']) await page.locator(`[name="field.several"][value="${value}"]`).check();
    await page.locator('[name="field.severalTitled"][value="2"]').check();
    await send(page);
    await page.waitForURL(url);
    const { content } = (await world.api.redeem(elicitationId)).body;
    expect(content).toMatchObject({
      long: 'first line\nsecond "line" <b>&amp;</b>',
      email: 'alice@example.com',
      link: 'https://example.com/a?b=c#d',
      day: '2028-02-29',
      number: -0.125,
      integer: -3,
      yes: true,
      no: false,
      few: 'green',
      named: 'g',
      titled: '#0f0',
      many: 'f',
      several: ['x', 'z'],
      severalTitled: ['2'],
    });
    expect(String(content?.['text']).trim()).toBe('tëxt 🙂');
    expect(Date.parse(String(content?.['moment']))).toBe(Date.parse('2026-12-31T23:59:00+05:45'));
    // Omitted answers are absent, not empty.
    expect(content).not.toHaveProperty('left');
    expect(content).not.toHaveProperty('leftNumber');
  });

  inFull.it('shows its defaults and submits them unless the user changes them', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false });
    const { page } = person;
    const content = {
      text: 'a "quoted" <default>',
      number: 0.1,
      integer: 42,
      yes: true,
      day: '2026-01-31',
      few: 'green',
      titled: '#f00',
      many: 'g',
      several: ['y', 'z'],
    };
    const properties = Object.fromEntries(
      Object.entries(content).map(([name, value]) => [name, { ...everything.properties[name], default: value }]),
    );
    properties['text'] = { type: 'string', default: content.text };
    properties['number'] = { type: 'number', default: content.number };
    const { elicitationId, url } = await opened(person, {
      requestedSchema: { type: 'object', properties } as Schema,
    });
    expect(await field(page, 'text').inputValue()).toBe(content.text);
    expect(await field(page, 'yes').isChecked()).toBe(true);
    await send(page);
    await page.waitForURL(url);
    expect((await world.api.redeem(elicitationId)).body.content).toEqual(content);
  });

  inFull.it('shows the typed values again with each error next to its field', async () => {
    const user = world.subject();
    await using person = await newPerson(browser, user, { javaScriptEnabled: false });
    const { page } = person;
    const { elicitationId, url } = await opened(person, { requestedSchema: everything });
    await field(page, 'text').fill('x');
    await field(page, 'email').fill('not an address');
    await field(page, 'link').fill('example');
    await field(page, 'number').fill('two');
    await field(page, 'integer').fill('1.5');
    await send(page);
    await page.locator('.field-fault').first().waitFor();
    const faults = await page
      .locator('.field-fault')
      .evaluateAll(elements => elements.map(element => element.id.replace('fault-', '')));
    expect(faults).toEqual(['text', 'email', 'link', 'number', 'integer', 'several']);
    expect(await page.locator('.faults a').count()).toBe(faults.length);
    for (const [name, value] of [
      ['text', 'x'],
      ['email', 'not an address'],
      ['number', 'two'],
      ['integer', '1.5'],
    ] as const)
      expect(await field(page, name).inputValue()).toBe(value);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
    await field(page, 'text').fill('xx');
    for (const name of ['email', 'link', 'number', 'integer']) await field(page, name).fill('');
    await page.locator('[name="field.several"][value="y"]').check();
    await send(page);
    await page.waitForURL(url);
    expect((await world.api.redeem(elicitationId)).body.content).toEqual({
      text: 'xx',
      yes: false,
      no: false,
      several: ['y'],
    });
  });

  inFull.it.each([
    ['No', 'completed', { value: false }],
    ['Yes', 'completed', { value: true }],
    ['Decline', 'declined', undefined],
  ] as const)('asks one yes-or-no question with buttons: %s', async (name, status, content) => {
    const user = world.subject();
    await using person = await newPerson(browser, user);
    const requestedSchema: Schema = {
      type: 'object',
      properties: { value: { type: 'boolean', title: 'Release it now?' } },
      required: ['value'],
    };
    const { elicitationId } = await opened(person, { requestedSchema });
    await person.page.getByRole('button', { name, exact: true }).click();
    expect((await world.api.read(elicitationId, 20)).body.status).toBe(status);
    if (content !== undefined) expect((await world.api.redeem(elicitationId)).body.content).toEqual(content);
  });

  it('has up to twenty fields', async () => {
    const user = world.subject();
    const names = Array.from({ length: 20 }, (_, n) => `field_${n}`);
    const properties = Object.fromEntries(names.map(name => [name, { type: 'integer' as const }]));
    const { elicitationId } = await issueFor(world, user, {
      kind: 'form',
      form: { requestedSchema: { type: 'object', properties, required: names } },
    });
    const raw = await visitorFor(world, user, elicitationId);
    const values = Object.fromEntries(names.map((name, n) => [name, String(n)]));
    expect((await acceptWith(raw, elicitationId, values)).status).toBe(303);
    expect((await world.api.redeem(elicitationId)).body.content).toEqual(
      Object.fromEntries(names.map((name, n) => [name, n])),
    );
  });

  it.each<[string, Record<string, string>]>([
    ['an unknown option', { few: 'blue' }],
    ['an unknown option among several', { several: 'w' }],
    ['a number beyond its range', { number: '1.6' }],
    ['no number', { integer: '0x10' }],
    ['an invalid number', { number: 'NaN' }],
    ['an endless one', { number: '1e999' }],
    ['a day that does not exist', { day: '2027-02-29' }],
    ['a text that is too long', { text: 'x'.repeat(11) }],
    ['a field that is not in the schema', { surprise: 'x' }],
    ['an inherited object member', { __proto__x: 'x', constructor: 'x' }],
  ])('a browser that sends %s is refused', async (_, values) => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, { kind: 'form', form: { requestedSchema: everything } });
    const raw = await visitorFor(world, user, elicitationId);
    const right = { text: 'xx', several: 'x' };
    expect((await acceptWith(raw, elicitationId, { ...right, ...values })).status).toBe(422);
    expect((await world.api.read(elicitationId)).body.status).toBe('pending');
    expect((await acceptWith(raw, elicitationId, right)).status).toBe(303);
  });
});

describe('S44: issue refuses a schema outside MCP’s restrictions with the path of the error', () => {
  const at = (rest: string) => `body.form.requestedSchema.${rest}`;
  const string = { type: 'string' };
  it.each<[string, unknown, string]>([
    ['an object within', { type: 'object', properties: { a: { type: 'object', properties: {} } } }, at('properties.a')],
    [
      'a list of objects',
      { type: 'object', properties: { a: { type: 'array', items: { type: 'object' } } } },
      at('properties.a.items'),
    ],
    [
      'a list of texts',
      { type: 'object', properties: { a: { type: 'array', items: string } } },
      at('properties.a.items'),
    ],
    ['$ref', { type: 'object', properties: { a: { $ref: '#/x' } } }, at('properties.a')],
    ['$defs', { type: 'object', properties: { a: string }, $defs: {} }, at('$defs')],
    ['an unknown type', { type: 'object', properties: { a: { type: 'null' } } }, at('properties.a')],
    ['two types', { type: 'object', properties: { a: { type: ['string', 'null'] } } }, at('properties.a')],
    [
      'a keyword outside MCP’s subset',
      { type: 'object', properties: { a: { ...string, contentEncoding: 'base64' } } },
      at('properties.a.contentEncoding'),
    ],
    [
      'an unknown format',
      { type: 'object', properties: { a: { ...string, format: 'ipv4' } } },
      at('properties.a.format'),
    ],
    [
      'a default of another type',
      { type: 'object', properties: { a: { ...string, default: 7 } } },
      at('properties.a.default'),
    ],
    [
      'a default outside the options',
      { type: 'object', properties: { a: { ...string, enum: ['x'], default: 'y' } } },
      at('properties.a.default'),
    ],
    ['required and unknown', { type: 'object', properties: { a: string }, required: ['b'] }, at('required.0')],
    [
      'twenty-one questions',
      { type: 'object', properties: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, string])) },
      at('properties'),
    ],
    [
      'the name of an inherited member',
      { type: 'object', properties: { constructor: string } },
      at('properties.constructor'),
    ],
    ['no object', { type: 'array' }, at('type')],
    [
      'a text with a bidirectional control',
      { type: 'object', properties: { a: { ...string, title: 'a\u202eb' } } },
      at('properties.a.title'),
    ],
  ])('%s', async (_, requestedSchema, path) => {
    const subject = { issuer: world.identityProvider.issuer, subject: 'alice' };
    const answer = await world.api.call<{ errors?: { path: string }[] }>('POST', '/v1/elicitations', {
      kind: 'form',
      subject,
      form: { requestedSchema },
    });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body.errors?.some(error => error.path === path || error.path.startsWith(`${path}.`))).toBe(true);
  });

  it.each([
    ['an unknown secret field', ['b']],
    ['a secret field that is not a text', ['n']],
  ])('secretFields naming %s', async (_, secretFields) => {
    const subject = { issuer: world.identityProvider.issuer, subject: 'alice' };
    const requestedSchema = { type: 'object', properties: { a: string, n: { type: 'integer' } } };
    const answer = await world.api.call('POST', '/v1/elicitations', {
      kind: 'form',
      subject,
      form: { requestedSchema, secretFields },
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { errors: [{ path: expect.stringContaining('body.form.secretFields') }] },
    });
  });
});
