import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RawAnswer } from '../support/raw-browser.ts';
import { dumpRedis } from '../support/redis-dump.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
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
    expect(languageOf(await raw.get(path))).toBe('zh-Hans');

    const before = await dumpRedis(world.redis.url);
    const chosen = await raw.post('/language', { form: { language: 'en', back: path } });
    expect(chosen).toMatchObject({ status: 303, location: path });
    expect(languageOf(await raw.get(path))).toBe('en');
    expect(await dumpRedis(world.redis.url)).toEqual(before);

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
