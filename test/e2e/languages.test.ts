import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deletion, issueFor, visitorFor } from '../support/asks.ts';
import type { RawAnswer, RawBrowser } from '../support/raw-browser.ts';
import { dumpStore } from '../support/store-dump.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld({
    mcpServer: { confirmation: {} },
    config: { branding: { name: { en: 'Northwind Gate', ja: 'ノースウィンド' } } },
  });
});
afterAll(() => world?.[Symbol.asyncDispose]());

const languageOf = ({ body }: RawAnswer) => /<html lang="([^"]+)"/.exec(body)?.[1];

describe('S108: the language of a page', () => {
  it('is the one that the reader chose, then the locale of the request, then that of the browser', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, { locale: 'zh-SG' });
    const path = `/e/${elicitationId}`;

    const signInPage = await raw.get(path);
    expect(languageOf(signInPage)).toBe('en');
    const { location } = await raw.get(`/login?e=${elicitationId}`);
    expect(new URL(location ?? '').searchParams.get('ui_locales')).toBe('en');

    await raw.signIn(elicitationId, user);
    const page = await raw.get(path);
    expect([page.status, languageOf(page)]).toEqual([200, 'zh-Hans']);

    const before = await dumpStore(world);
    const chosen = await raw.post('/language', { form: { language: 'en', back: path } });
    expect(chosen).toMatchObject({ status: 303, location: path });
    expect(languageOf(await raw.get(path))).toBe('en');
    expect(await dumpStore(world)).toEqual(before);

    raw.cookies.delete('postern_view');
    expect(languageOf(await raw.get(path))).toBe('zh-Hans');
  });

  it('says nothing of the locale of a request to another person, or without a sign-in', async () => {
    const owner = world.subject();
    const { elicitationId } = await world.ask(owner, { locale: 'zh' });
    const other = world.raw();
    expect(languageOf(await other.get(`/e/${elicitationId}`))).toBe('en');
    await other.signIn(elicitationId, world.subject());
    const refused = await other.get(`/e/${elicitationId}`);
    expect(refused.status).toBe(403);
    expect(languageOf(refused)).toBe('en');
  });

  it('is passed to the sign-in, after the same-person check also that of the request', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user, { locale: 'zh' });
    await raw.signIn(elicitationId, user);
    const { location } = await raw.get(`/login?e=${elicitationId}`);
    expect(new URL(location ?? '').searchParams.get('ui_locales')).toBe('zh-Hans');
  });

  it('has the name of the operator in that language, else in English', async () => {
    const raw = world.raw();
    for (const [language, name] of Object.entries({ ja: 'ノースウィンド', de: 'Northwind Gate' })) {
      raw.cookies.set('postern_view', `lang=${language}`);
      expect((await raw.get('/me')).body).toContain(
        `<span class="brand-name" translate="no"><bdi>${name}</bdi></span>`,
      );
    }
  });

  it('is in the audit event of a decision: that of the page of an approval, else that of the request', async () => {
    const decided = async (event: string, act: (raw: RawBrowser, elicitationId: string) => Promise<unknown>) => {
      const user = world.subject();
      const { elicitationId } = await issueFor(world, user, { kind: 'confirmation', confirmation: deletion });
      const raw = await visitorFor(world, user, elicitationId);
      raw.cookies.set('postern_view', 'lang=fr');
      await act(raw, elicitationId);
      const lines = world
        .log()
        .split('\n')
        .filter(line => line.includes(`"event":"elicitation.${event}"`));
      return JSON.parse(lines.find(line => line.includes(elicitationId)) ?? '{}').language;
    };
    const decline = async (raw: RawBrowser, elicitationId: string) =>
      raw.post(`/e/${elicitationId}/decline`, { form: { csrf_token: await raw.csrfToken(elicitationId) } });
    const approve = async (raw: RawBrowser, elicitationId: string) => {
      const form = await raw.acceptForm(elicitationId);
      raw.cookies.set('postern_view', 'lang=ar');
      await raw.post(`/e/${elicitationId}/accept`, { form });
    };
    expect([await decided('declined', decline), await decided('approved', approve)]).toEqual(['fr', 'fr']);
  });

  it('has the times of the time zone in the cookie', async () => {
    const user = world.subject();
    const raw = world.raw();
    const { elicitationId } = await world.ask(user);
    await raw.signIn(elicitationId, user);
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('UTC</time>');
    raw.cookies.set('postern_view', 'tz=Asia%2FTokyo');
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('GMT+9</time>');
    raw.cookies.set('postern_view', 'tz=Mars%2FOlympus');
    expect((await raw.get(`/e/${elicitationId}`)).body).toContain('UTC</time>');
  });
});
