import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, issueFor, paymentOf, paymentPolicy, visitorFor } from '../support/asks.ts';
import { storedElicitation } from '../support/stored-elicitation.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    mcpServer: {
      name: { en: 'Issue Tracker', de: 'Aufgabenbuch' },
      payment: paymentPolicy(),
      limits: { elicitationsPerSubject: 1000, openElicitationsPerSubject: 1000 },
    },
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

type Ask = Parameters<typeof issueFor>[2];

const title = { en: 'Delete the project', de: 'Das Projekt löschen' };
const action = { en: 'Delete project', de: 'Projekt löschen' };
const confirmation = (more: object = {}): Ask => ({
  kind: 'confirmation',
  message: { en: 'You asked me to tidy up', de: 'Sie wollten aufräumen' },
  confirmation: {
    title,
    action,
    facts: [{ type: 'text', label: { en: 'Project', de: 'Projekt' }, value: 'attic' }],
    ...more,
  },
});
const form = (texts: object = {}): Ask => ({
  kind: 'form',
  form: {
    title: { en: 'Your parcel', de: 'Ihr Paket' },
    requestedSchema: {
      type: 'object',
      properties: {
        size: { type: 'string', title: 'Size', enum: ['s', 'l'] },
        note: { type: 'string', title: 'Note' },
      },
      required: ['size'],
    },
    texts: {
      size: { title: { en: 'Size', de: 'Größe' }, options: { s: { en: 'Small', de: 'Klein' }, l: { ar: 'كبير' } } },
      ...texts,
    },
  },
});

/** Within the limit of a request, above that of a form. */
const manyTexts = () => ({
  note: {
    description: Object.fromEntries(
      ['en', 'de', 'fr', 'ja', 'ar', 'es', 'zh-Hans', 'zh-Hant'].map(tag => [
        tag,
        '\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}'.repeat(300),
      ]),
    ),
  },
});

async function pageOf(ask: Ask, language: string) {
  const user = world.subject();
  const { elicitationId } = await issueFor(world, user, ask);
  const raw = await visitorFor(world, user, elicitationId);
  raw.cookies.set('postern_view', `lang=${language}`);
  const { body } = await raw.get(`/e/${elicitationId}`);
  return { user, raw, elicitationId, body };
}

describe('S109: a text in several languages', () => {
  it.each([
    ['de', ['Aufgabenbuch', 'Das Projekt löschen', 'Projekt löschen', 'Projekt', 'Sie wollten aufräumen'], []],
    ['fr', [], ['Issue Tracker', 'Delete the project', 'Delete project', 'Project', 'You asked me to tidy up']],
  ] as const)('is shown in the language of a page in %s, else in English and marked', async (language, own, marked) => {
    const { body } = await pageOf(confirmation(), language);
    for (const text of own) expect(body).toContain(`<bdi>${text}</bdi>`);
    for (const text of marked) expect(body).toContain(`<bdi lang="en" dir="auto">${text}</bdi>`);
  });

  it('replaces those of a form schema, and leaves the rest', async () => {
    const { body } = await pageOf(form(), 'de');
    for (const text of ['Ihr Paket', 'Größe', 'Klein', 'Note']) expect(body).toContain(`<bdi>${text}</bdi>`);
    expect(body).toContain('<bdi lang="ar" dir="auto">كبير</bdi>');
    expect(body).not.toContain('>Size<');
  });

  it('is returned as it was sent, and a repeat under one key differs in any language', async () => {
    const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
    const issue = (message: object, more: object = {}) =>
      world.api.issue({ ...confirmation(more), subject, message } as never, { 'idempotency-key': 'texts' });
    const first = await issue({ en: 'One', de: 'Eins' });
    expect(first).toMatchObject({ status: 201, body: { message: { en: 'One', de: 'Eins' } } });
    expect((await issue({ en: 'One', de: 'Eins' })).body).toEqual(first.body);
    expect(await issue({ en: 'One', de: 'Zwei' })).toMatchObject({ status: 422 });
    const other = { ...action, de: 'Projekt behalten' };
    expect(await issue({ en: 'One', de: 'Eins' }, { action: other })).toMatchObject({ status: 422 });
  });

  it('follows the rules for text in each language', async () => {
    const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
    const refused = async (ask: Ask) => {
      const { status, body } = await world.api.issue({ ...ask, subject } as never);
      return { status, code: body.code, path: body.errors?.[0]?.path };
    };
    const invalid = { status: 400, code: 'invalid_request' };
    const path = 'body.confirmation.title';
    for (const text of ['', ' ', 'x'.repeat(121), 'Dele\u202Ete', 'Löschen\nund mehr'])
      expect(await refused(confirmation({ title: { en: 'Delete', de: text } })), text).toMatchObject(invalid);
    for (const none of [{}, { tlh: 'Qapla' }, { en: 'Delete', '': 'x' }])
      expect(await refused(confirmation({ title: none })), JSON.stringify(none)).toMatchObject(invalid);
    // The name of this world's identity provider, with another letter, in German only.
    expect(await refused(confirmation({ title: { en: 'Delete', de: 'Bei Роstеrn löschen' } }))).toEqual({
      status: 422,
      code: 'confusable_name',
      path: `${path}.de`,
    });
  });

  it.each(['', 'x'.repeat(31), 'Dele\u202Ete', 'Delete\u0007', 'Delete\nit', { en: 'x', de: 'x'.repeat(31) }])(
    'S187: on a button is one line of at most 30 characters: %j is refused by the name of the member',
    async action => {
      const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
      const { status, body } = await world.api.issue({ ...confirmation({ action }), subject } as never);
      const paths = body.errors?.map(({ path }) => path);
      const path = `body.confirmation.action${typeof action === 'string' ? '' : '.de'}`;
      expect([status, body.code, paths]).toEqual([400, 'invalid_request', [path]]);
    },
  );

  it.each([
    ['an unknown property', { other: { title: 'Other' } }, 'body.form.texts.other'],
    ['an unknown option', { size: { options: { xl: 'Huge' } } }, 'body.form.texts.size.options.xl'],
    ['an option of a text', { note: { options: { s: 'Small' } } }, 'body.form.texts.note.options.s'],
    [
      'options that are the same in one language',
      { size: { options: { s: { en: 'Small', de: 'Gleich' }, l: { en: 'Large', de: 'Gleich' } } } },
      'body.form.texts.size.options',
    ],
    [
      'a long text',
      { note: { description: { en: 'Note', de: 'x'.repeat(501) } } },
      'body.form.texts.note.description.de',
    ],
    ['more bytes than a form may have', manyTexts(), 'body.form.texts'],
  ])('of a form cannot be of %s', async (_, texts, path) => {
    const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
    const { status, body } = await world.api.issue({ ...form(texts), subject } as never);
    expect(status).toBe(400);
    expect(body.errors?.map(error => error.path)).toContain(path);
  });

  it('is part of what the user approves', async () => {
    const user = world.subject();
    const one = await issueFor(world, user, confirmation());
    const other = await issueFor(world, user, confirmation({ title: { ...title, de: 'Das andere Projekt löschen' } }));
    const raw = await visitorFor(world, user, one.elicitationId);
    const { shown = '' } = await raw.acceptForm(other.elicitationId);
    const before = await storedElicitation(world, one.elicitationId);
    const posted = { ...(await raw.acceptForm(one.elicitationId)), shown };
    expect(await raw.post(`/e/${one.elicitationId}/accept`, { form: posted })).toMatchObject({ status: 409 });
    expect(await storedElicitation(world, one.elicitationId)).toEqual(before);
  });
});

describe('S111: an approval', () => {
  it.each([
    ['a confirmation', confirmation],
    ['a payment', () => paymentOf({ processor: 'none' })],
  ] as const)('of %s records the language of its page, in outcome and receipt', async (_, ask) => {
    const { raw, elicitationId } = await pageOf(ask() as Ask, 'de');
    const form = await raw.acceptForm(elicitationId);
    // Chosen in another tab, after this page was shown.
    raw.cookies.set('postern_view', 'lang=ja');
    expect(await raw.post(`/e/${elicitationId}/accept`, { form })).toMatchObject({ status: 303 });
    const { outcome } = (await world.api.read(elicitationId)).body;
    expect(outcome).toMatchObject({ approval: { language: 'de' } });
    const { receipt = '' } = (await world.api.redeem(elicitationId)).body;
    expect(decodeJwt(receipt)).toMatchObject({ approval: { language: 'de' } });
  });

  it.each(['', '.xx', '.de.fr', '.en-XA'])('does not record a language that no reader has: %j', async suffix => {
    const { raw, elicitationId } = await pageOf(confirmation(), 'de');
    const { shown = '', ...rest } = await raw.acceptForm(elicitationId);
    const form = { ...rest, shown: `${shown.split('.')[0]}${suffix}` };
    const { status } = await raw.post(`/e/${elicitationId}/accept`, { form });
    const { outcome } = (await world.api.read(elicitationId)).body;
    expect([status, (outcome as { approval?: { language?: string } } | undefined)?.approval?.language]).toEqual(
      suffix === '.de.fr' ? [303, 'de'] : [303, undefined],
    );
  });

  it('shows its texts again on the last page', async () => {
    const { raw, elicitationId } = await pageOf(confirmation(), 'de');
    await acceptWith(raw, elicitationId);
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('<bdi>Das Projekt löschen</bdi>');
  });
});
