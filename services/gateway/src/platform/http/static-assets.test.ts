import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { type Asset, sendAsset } from './static-assets.ts';

const sheet: Asset = { type: 'text/css; charset=utf-8', body: 'p { margin: 0 } '.repeat(200) };
const image: Asset = { type: 'image/png', body: Buffer.from([0x89, 0x50, 0x4e, 0x47]) };

const app = Fastify();
app.get('/sheet', (request, reply) => sendAsset(request, reply, sheet));
app.get('/image', (request, reply) => sendAsset(request, reply, image));
const ask = (headers: Record<string, string> = {}, url = '/sheet', method: 'GET' | 'HEAD' = 'GET') =>
  app.inject({ method, url, headers });

it.each([
  [undefined, undefined],
  ['', undefined],
  ['br', 'br'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['br;q=0, gzip', 'gzip'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br ; q=1.0 , gzip;q=1', 'br'],
  ['*', 'br'],
  ['*;q=0', undefined],
  ['br;q=0, *', 'gzip'],
  ['br;q=0,gzip;q=0.000', undefined],
  ['br;q=2', undefined],
  ['br;q=x', undefined],
  ['identity, deflate', undefined],
])('S214: for Accept-Encoding %s, the encoding is %s', async (accepted, expected) => {
  const { statusCode, headers, rawPayload } = await ask(accepted === undefined ? {} : { 'accept-encoding': accepted });
  expect([statusCode, headers['content-encoding'], headers['vary']]).toEqual([200, expected, 'Accept-Encoding']);
  const decode = { br: brotliDecompressSync, gzip: gunzipSync }[String(expected)] ?? Buffer.from;
  expect(decode(rawPayload).toString()).toBe(sheet.body);
  expect(headers['content-length']).toBe(String(rawPayload.length));
});

it('S214: each encoding has its own entity tag, which answers a conditional request', async () => {
  const tags = await Promise.all(
    ['br', 'gzip', ''].map(async accepted => String((await ask({ 'accept-encoding': accepted })).headers['etag'])),
  );
  expect(new Set(tags).size).toBe(3);
  const [br = '', gzip = ''] = tags;
  for (const known of [br, `"x", W/${br}`]) {
    const again = await ask({ 'accept-encoding': 'br', 'if-none-match': known });
    expect([again.statusCode, again.payload, again.headers['etag']]).toEqual([304, '', br]);
  }
  expect((await ask({ 'accept-encoding': 'br', 'if-none-match': gzip })).statusCode).toBe(200);
});

it('S214: a file is compressed once, however many clients ask for it', async () => {
  let reads = 0;
  const counted: Asset = {
    type: sheet.type,
    get body() {
      reads += 1;
      return sheet.body;
    },
  };
  const other = Fastify();
  other.get('/', (request, reply) => sendAsset(request, reply, counted));
  const headers = { 'accept-encoding': 'br' };
  await Promise.all(Array.from({ length: 20 }, () => other.inject({ url: '/', headers })));
  expect(reads).toBe(1);
});

it('S214: HEAD has the headers of GET, and no request gets a range', async () => {
  const headers = { 'accept-encoding': 'br' };
  const [head, get] = await Promise.all([ask(headers, '/sheet', 'HEAD'), ask({ ...headers, range: 'bytes=0-9' })]);
  const { date: _, ...ofHead } = head.headers;
  const { date: __, ...ofGet } = get.headers;
  expect([head.payload, ofHead]).toEqual(['', ofGet]);
  expect([get.statusCode, get.headers['accept-ranges']]).toEqual([200, 'none']);
});

it('S214: an image, which is compressed already, is sent as it is', async () => {
  const { headers, rawPayload } = await ask({ 'accept-encoding': 'br' }, '/image');
  expect([headers['content-encoding'], headers['vary'], rawPayload]).toEqual([undefined, undefined, image.body]);
});
