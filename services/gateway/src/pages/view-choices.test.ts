import cookie from '@fastify/cookie';
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { ProblemError } from '../platform/http/problems.ts';
import { deferFormParsing, PageError } from './page-request.ts';
import { createViewChoices, pagePathOf } from './page-views.ts';

const publicUrl = 'https://postern.example.com';
const name = '__Host-postern_view';

async function pages() {
  const app = fastify();
  onTestFinished(() => app.close());
  const choices = createViewChoices({ publicUrl });
  await app.register(cookie);
  deferFormParsing(app);
  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof ProblemError) return reply.code(error.code === 'payload_too_large' ? 413 : 500).send();
    if (!(error instanceof PageError)) throw error;
    return reply.code(error.kind === 'forbidden' ? 403 : 400).send();
  });
  choices.register(app);
  app.get('/choices', request => choices.read(request));
  app.get('/*', request => ({ path: pagePathOf(request) }));
  return {
    post: (form: Record<string, string>, headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' }) =>
      app.inject({
        method: 'POST',
        url: '/language',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: `${new URLSearchParams(form)}`,
      }),
    read: async (value: string) =>
      (await app.inject({ url: '/choices', headers: { cookie: `${name}=${value}` } })).json() as unknown,
    pathOf: async (url: string) => ((await app.inject({ url })).json() as { path: string }).path,
  };
}

test('S108: stores the chosen language, keeps the time zone, and leads back to the page', async () => {
  const { post } = await pages();
  const response = await post(
    { language: 'zh-Hans', back: '/e/abc?page=2' },
    { 'sec-fetch-site': 'same-origin', cookie: `${name}=lang=en&tz=Europe%2FBerlin` },
  );
  expect(response.statusCode).toBe(303);
  expect(response.headers.location).toBe('/e/abc?page=2');
  expect(response.headers['set-cookie']).toBe(
    `${name}=lang=zh-Hans&tz=Europe%2FBerlin; Max-Age=31536000; Path=/; Secure; SameSite=Lax`,
  );
});

test.each([
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'none' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  {},
])('S108: refuses a form from elsewhere with 403: %j', async headers => {
  const { post } = await pages();
  const response = await post({ language: 'en', back: '/me' }, headers as Record<string, string>);
  expect(response.statusCode).toBe(403);
  expect(response.headers['set-cookie']).toBeUndefined();
});

test.each([
  { language: 'en-XA', back: '/me' },
  { language: 'constructor', back: '/me' },
  { language: 'en; Domain=evil.example', back: '/me' },
  { language: 'en', back: 'https://evil.example/' },
  { language: 'en', back: '//evil.example' },
  { language: 'en', back: '/\\evil.example' },
  { language: 'en', back: '/\t/evil.example' },
  { language: 'en', back: `/${'a'.repeat(2048)}` },
  { language: 'en', back: '' },
  { language: 'en' },
  { back: '/me' },
  { language: 'en', back: '/me', more: '1' },
])('S108: refuses a form that no page of ours has with 400: %j', async form => {
  const { post } = await pages();
  const response = await post(form as unknown as Record<string, string>);
  expect(response.statusCode).toBe(400);
  expect(response.headers['set-cookie']).toBeUndefined();
});

test.each([
  ['lang=zh-Hans&tz=Asia%2FShanghai', { language: 'zh-Hans', timeZone: 'Asia/Shanghai' }],
  ['tz=Asia%2FShanghai&lang=zh-Hans', { language: 'zh-Hans', timeZone: 'Asia/Shanghai' }],
  ['tz=Etc%2FGMT%2B3', { timeZone: 'Etc/GMT+3' }],
  ['lang=en', { language: 'en' }],
  ['lang=xx&tz=Mars%2FOlympus', {}],
  ['lang=en-XA', {}],
  ['tz=%2B02%3A00', {}],
  [`tz=${'A'.repeat(5000)}`, {}],
  ['lang=__proto__', {}],
  ['&&&&&lang=en', {}],
  ['%', {}],
  ['', {}],
])('reads the cookie %j, ignoring what is unknown', async (value, expected) => {
  const { read } = await pages();
  expect(await read(value)).toEqual(expected);
});

test.each([
  ['/e/abc', '/e/abc'],
  ['/e/abc?fault=rq_1', '/e/abc'],
  ['/me?field.password=secret', '/me'],
  ['/callback/tracker/github?code=secret&state=secret', '/callback/tracker/github'],
  ['/login?e=abc', '/login'],
  ['/menu?code=secret', '/menu'],
  ['//evil.example/', '/me'],
])('a page at %s is left as %s', async (url, expected) => {
  const { pathOf } = await pages();
  expect(await pathOf(url)).toBe(expected);
});

test('S75: reads no more than a language and a path', async () => {
  const { post } = await pages();
  const back = `/${'%'.repeat(2046)}`;
  expect((await post({ language: 'de', back })).statusCode).toBe(303);
  expect((await post({ language: 'de', back, more: '' })).statusCode).toBe(400);
  expect((await post({ language: 'de', back: `${back}${'%'.repeat(200)}` })).statusCode).toBe(413);
});
