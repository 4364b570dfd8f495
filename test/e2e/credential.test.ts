import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { acceptWith, apiKeyRequest, deliveryForm, issueFor, visitorFor } from '../support/asks.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

describe('a credential', () => {
  it('is typed once, redeemed once and not shown again', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential: apiKeyRequest });
    const raw = await visitorFor(world, user, elicitationId);
    const wrong = await acceptWith(raw, elicitationId, { api_key: 'sk_wrong' });
    expect(wrong.status).toBe(422);
    expect(wrong.body).not.toContain('sk_wrong');
    expect(await acceptWith(raw, elicitationId, { api_key: ' ak_0123456789 ' })).toMatchObject({ status: 303 });
    expect((await raw.get(`/e/${elicitationId}`)).body).not.toContain('ak_0123456789');
    expect((await world.api.redeem(elicitationId)).body).toMatchObject({ values: { api_key: 'ak_0123456789' } });
  });

  it('that is stored can be read over the API, and listed and deleted at /me', async () => {
    const user = world.subject();
    const subject = { issuer: world.identityProvider.issuer, subject: user };
    const credential = { ...apiKeyRequest, retention: 'lasting' } as const;
    const { elicitationId } = await issueFor(world, user, { kind: 'credential', credential });
    const raw = await visitorFor(world, user, elicitationId);
    await acceptWith(raw, elicitationId, { api_key: 'ak_abcdefgh' });
    const { outcome } = (await world.api.read(elicitationId)).body;
    const credentialId = outcome?.credentialId ?? '';
    expect((await world.api.credential(credentialId)).body).toMatchObject({ values: { api_key: 'ak_abcdefgh' } });
    const again = await world.api.issue({ kind: 'credential', subject, credential });
    expect(again).toMatchObject({ status: 200, body: { status: 'completed', outcome: { credentialId } } });
    const me = await raw.get('/me');
    expect(me.body).toContain('API key of Acme');
    expect(me.body).not.toContain('ak_abcdefgh');
  });
});

describe('a form', () => {
  it('is filled in, checked and redeemed', async () => {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, { kind: 'form', form: deliveryForm });
    const raw = await visitorFor(world, user, elicitationId);
    expect(await acceptWith(raw, elicitationId, { name: 'A', parcels: '12' })).toMatchObject({ status: 422 });
    expect(await acceptWith(raw, elicitationId, { name: 'Alice', parcels: '2' })).toMatchObject({ status: 303 });
    expect((await world.api.redeem(elicitationId)).body).toMatchObject({
      content: { name: 'Alice', parcels: 2, express: false },
    });
  });

  it('checks typed text against a pattern, but accepts a default at issue that does not match it', async () => {
    const user = world.subject();
    const contact = {
      type: 'string',
      title: 'Contact',
      minLength: 3,
      maxLength: 50,
      pattern: '^[A-Za-z]+$',
      format: 'email',
      default: 'ada@northwind.example',
    } as const;
    const word = { type: 'string', title: 'Word', pattern: '^(a+)+$', default: 'Ada 1' } as const;
    const form = { requestedSchema: { type: 'object', properties: { contact, word } } } as const;
    const { elicitationId } = await issueFor(world, user, { kind: 'form', form });
    const raw = await visitorFor(world, user, elicitationId);
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('ada@northwind.example');
    const unchanged = await acceptWith(raw, elicitationId, { contact: contact.default, word: word.default });
    expect(unchanged.status).toBe(422);
    for (const name of ['contact', 'word']) expect(unchanged.body).toContain(`id="fault-${name}"`);
    expect(await acceptWith(raw, elicitationId, { word: `${'a'.repeat(4000)}!` })).toMatchObject({ status: 422 });
    expect(await acceptWith(raw, elicitationId, { word: 'aaaa' })).toMatchObject({ status: 303 });
    expect((await world.api.redeem(elicitationId)).body).toMatchObject({ content: { word: 'aaaa' } });
  });

  it.each(['(?=look)', '(', 'a\ud800', '[a-z]{0,999}'.repeat(16)])('is refused for the pattern %j', async pattern => {
    const subject = { issuer: world.identityProvider.issuer, subject: world.subject() };
    const requestedSchema = { type: 'object', properties: { word: { type: 'string', pattern } } } as const;
    expect(await world.api.issue({ kind: 'form', subject, form: { requestedSchema } })).toMatchObject({
      status: 400,
      body: {
        code: 'invalid_request',
        errors: [expect.objectContaining({ path: 'body.form.requestedSchema.properties.word.pattern' })],
      },
    });
  });
});
