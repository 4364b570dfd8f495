import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { paymentPolicy } from '../support/asks.ts';
import { textOf } from '../support/connections.ts';
import { createPasskeyPeople } from '../support/passkey-person.ts';
import { csrfTokenIn, type RawBrowser } from '../support/raw-browser.ts';
import { ageSignIn } from '../support/sign-in-age.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ mcpServer: { payment: paymentPolicy({ passkeyAbove: { EUR: 2000 } }) } });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const { enrolled } = createPasskeyPeople(() => world);
const HOSTILE = '</bdi><script>alert(1)</script> & "Phone"';

async function renamingOf(raw: RawBrowser): Promise<string> {
  const [path] = /\/me\/passkeys\/[^/"]+\/rename/.exec((await raw.get('/me')).body) ?? [];
  if (path === undefined) throw new Error('no passkey to rename');
  return path;
}

describe('names of passkeys', () => {
  it('are set by their owner, and shown as text', async () => {
    const { raw } = await enrolled();
    const path = await renamingOf(raw);
    const form = { csrf_token: csrfTokenIn(await raw.get(path)) };
    for (const label of ['', '   ', 'x'.repeat(61), 'two\nlines', 'right\u202eto left'])
      expect((await raw.post(path, { form: { ...form, label } })).status).toBe(422);
    expect(await raw.post(path, { form: { ...form, label: HOSTILE } })).toMatchObject({ status: 303, location: '/me' });
    const page = await raw.get('/me');
    expect(textOf(page)).toContain(HOSTILE);
    expect(page.body).not.toContain('<script>alert');
  });

  it('change only on our own page, after a recent sign-in, and for their owner', async () => {
    const [owner, other] = [await enrolled(), await enrolled()];
    const path = await renamingOf(owner.raw);
    const form = { csrf_token: csrfTokenIn(await owner.raw.get(path)), label: 'Mine' };
    const theirs = { csrf_token: csrfTokenIn(await other.raw.get('/me')), label: 'Mine' };
    expect((await owner.raw.post(path, { form, headers: { 'sec-fetch-site': 'cross-site' } })).status).toBe(403);
    expect((await owner.raw.post(path, { form: theirs })).status).toBe(403);
    expect((await world.raw().post(path, { form })).status).toBe(401);
    expect((await other.raw.get(path)).status).toBe(404);
    expect(await other.raw.post(path, { form: theirs })).toMatchObject({ status: 303, location: '/me' });
    await ageSignIn(world, owner.raw, 301);
    const old = { csrf_token: csrfTokenIn(await owner.raw.get('/me')), label: 'Mine' };
    expect(await owner.raw.post(path, { form: old })).toMatchObject({
      status: 303,
      location: expect.stringContaining('fresh=1'),
    });
    expect(textOf(await owner.raw.get('/me'))).not.toContain('Mine');
  });
});
