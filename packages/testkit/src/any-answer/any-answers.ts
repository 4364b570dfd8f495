import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type Damage, type HeaderList, type RawAnswer, raw, whole } from './raw-answer.ts';

const MEBIBYTE = 1024 * 1024;
const jsonType = ['content-type', 'application/json'] as const;

/**
 * Responses that have broken clients, by name. A client must refuse them all, except those whose name begins with `honest, `.
 * Those are unusual, and a client may accept them.
 * @param canary text of every response with free text. It must not appear anywhere else.
 */
export function anyAnswers(canary: string): Readonly<Record<string, Damage>> {
  return { ...bodies(canary), ...statuses(canary), ...headers(canary), ...framings(canary), ...connections(canary) };
}

/** Responses that end only at the client's deadline. */
export const endlessAnswers: Readonly<Record<string, Damage>> = {
  'no answer': () => ({ bytes: Buffer.alloc(0), after: 'silence' }),
  'half a body, then silence': ({ status, body }) => ({
    bytes: raw(status, [jsonType, ['content-length', `${body.length + 10}`]], body),
    after: 'silence',
  }),
  'headers in drips': () => ({ bytes: Buffer.from('HTTP/1.1 200 OK\r\nx: '), after: 'drip' }),
  'a body in drips': () => ({ bytes: raw(200, [jsonType, ['content-length', '1000000']], '{'), after: 'drip' }),
  '100 Continue, then silence': () => ({ bytes: raw(100, []), after: 'silence' }),
};

const floodOf =
  (head: string, piece: string | Buffer): Damage =>
  () => ({ bytes: Buffer.from(head), after: 'flood', piece: Buffer.from(piece) });

/** Responses of which a client must read only a limited amount, however fast they arrive. */
export const floods: Readonly<Record<string, Damage>> = {
  'a body of a stated terabyte': floodOf(
    'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000000000000\r\n\r\n{"a":"',
    'a'.repeat(1024),
  ),
  'a body until the end of the connection': floodOf('HTTP/1.1 200 OK\r\n\r\n', '['.repeat(1024)),
  'a body of an error': floodOf('HTTP/1.1 500 X\r\n\r\n', 'e'.repeat(1024)),
  'a body of a redirect': floodOf('HTTP/1.1 302 X\r\nlocation: /\r\n\r\n', 'r'.repeat(1024)),
  'chunks without end': floodOf(
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
    `400\r\n${'c'.repeat(1024)}\r\n`,
  ),
  'a chunk extension without end': floodOf('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;', 'x'.repeat(1024)),
  'trailers without end': floodOf(
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n',
    `t: ${'t'.repeat(1019)}\r\n`,
  ),
  'headers without end': floodOf('HTTP/1.1 200 OK\r\n', `h: ${'h'.repeat(1019)}\r\n`),
  'a header without end': floodOf('HTTP/1.1 200 OK\r\nh: ', 'h'.repeat(1024)),
  'a status line without end': floodOf('HTTP/1.1 200 ', 'O'.repeat(1024)),
  'interim responses without end': floodOf('', `HTTP/1.1 103 X\r\nlink: ${'l'.repeat(996)}\r\n\r\n`),
  'gzip without end': floodOf(
    'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n',
    Buffer.concat(Array.from({ length: 64 }, () => gzipSync(Buffer.alloc(MEBIBYTE, 0x20)))),
  ),
};

function bodies(canary: string): Record<string, Damage> {
  const text = JSON.stringify(canary);
  const fixed: Record<string, string | Buffer> = {
    'a JSON string': text,
    'a JSON number': '5',
    'a JSON zero': '0',
    true: 'true',
    false: 'false',
    null: 'null',
    'an empty array': '[]',
    'an array of text': `[${text}]`,
    'an empty object': '{}',
    'an empty body': '',
    'no JSON': canary,
    '100,000 open brackets': '['.repeat(100_000),
    '100,000 nested arrays': '['.repeat(100_000) + ']'.repeat(100_000),
    '50,000 nested objects': '{"a":'.repeat(50_000) + text + '}'.repeat(50_000),
    'a member of 50,000 nested arrays': `{"error":${'['.repeat(50_000)}${text}${']'.repeat(50_000)}}`,
    __proto__: `{"__proto__":{"error":${text},"id":${text},"access_token":${text}}}`,
    'a constructor': `{"constructor":{"prototype":{"id":${text}}},"toString":${text},"then":${text}}`,
    'a thenable': '{"then":{"then":1},"toJSON":1,"length":-1}',
    'a huge number': '{"expires_in":1e400,"amount_total":1e400,"interval":-1e400}',
    'raw NUL bytes': Buffer.from(`{"a":"\0${canary}\0"}\0`),
    'escaped NUL characters': `{"id":"a\\u0000${canary}","error":"\\u0000"}`,
    'invalid UTF-8': Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x80, 0x22, 0x3a, 0x31, 0x7d]),
    'UTF-16': Buffer.from(`{"error":${text}}`, 'utf16le'),
    'lone surrogates': '{"error":"\\ud800","\\udfff":1}',
    'an error of the wrong type': `{"error":${text}}`,
    'an error that is a number': '{"error":7}',
    'an error that is a list': `{"error":[${text}]}`,
    'an error without a type': `{"error":{"message":${text}}}`,
    'an error whose type is a list': `{"error":{"type":[${text}],"code":{},"message":5}}`,
    '3 MiB of text': `{"padding":"${canary.repeat((3 * MEBIBYTE) / canary.length)}"}`,
  };
  return {
    ...Object.fromEntries(Object.entries(fixed).map(([name, body]) => [name, () => whole(200, body)])),
    HTML: () => whole(200, `<html><script>${canary}</script>`, [['content-type', 'text/html']]),
    'half of the honest body': ({ status, body }) => whole(status, body.subarray(0, body.length / 2)),
    'the honest body twice': ({ status, body }) => whole(status, Buffer.concat([body, body])),
    'the honest body in an array': ({ status, body }) => whole(status, `[${body}]`),
    'the honest body as a string': ({ status, body }) => whole(status, JSON.stringify(String(body))),
    'honest, every member twice': ({ status, body }) => whole(status, doubled(String(body))),
    'honest, with members of others': ({ status, body }) =>
      whole(status, String(body).replace(/^\{/, `{"__proto__":{"x":${text}},"canary":${text},`)),
  };
}

const doubled = (json: string) =>
  /^\{.+\}$/s.test(json.trim()) ? `${json.trim().slice(0, -1)},${json.trim().slice(1)}` : json + json;

function statuses(canary: string): Record<string, Damage> {
  const list = [
    201, 202, 203, 204, 205, 206, 207, 226, 299, 400, 401, 402, 403, 404, 405, 407, 408, 409, 410, 413, 415,
  ];
  const codes = [...list, 418, 421, 422, 424, 425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504, 511, 599];
  const elsewhere = ['http://169.254.169.254/', 'javascript:alert(1)', '//', '\\\\', `/${canary}`, ''];
  return {
    ...Object.fromEntries(
      codes.map((code): [string, Damage] => [
        `${code < 300 ? 'honest, with' : 'the honest body with'} ${code}`,
        ({ body }) => whole(code, body),
      ]),
    ),
    ...Object.fromEntries(
      [300, 301, 302, 303, 304, 305, 307, 308, 399].map((code, at) => [
        `a redirect with ${code}`,
        () => whole(code, canary, [['location', elsewhere[at % elsewhere.length] ?? '']]),
      ]),
    ),
    ...Object.fromEntries(
      ['000', '99', '600', '999', '1000', '-200', 'abc', ''].map(code => [
        `the status ${JSON.stringify(code)}`,
        ({ body }) => ({ bytes: raw(code, [jsonType, ['content-length', `${body.length}`]], body), after: 'end' }),
      ]),
    ),
    '400 in another dialect': () => whole(400, JSON.stringify({ message: canary, code: 403, detail: [canary] })),
    '403 with an error as text': () => whole(403, JSON.stringify({ error: canary, error_description: canary })),
    '500 with HTML': () => whole(500, `<h1>${canary}</h1>`, [['content-type', 'text/html']]),
    'a stored failure': () =>
      whole(500, `{"error":{"type":"api_error","message":"${canary}"}}`, [['idempotent-replayed', 'true']]),
    '429 with a Retry-After of years': () => whole(429, '{}', [['retry-after', '999999999999999999999']]),
    '503 with a Retry-After in words': () => whole(503, '{}', [['retry-after', canary]]),
  };
}

function headers(canary: string): Record<string, Damage> {
  const withHeaders = (list: HeaderList, status?: number): Damage => {
    return honest => whole(status ?? honest.status, honest.body, list);
  };
  const types = [
    'text/html',
    'application/jwt',
    'text/plain; charset=utf-7',
    'application/json; charset="',
    ',',
    ';;=',
    '*/*',
  ];
  const challenge = `Bearer realm="${'\\"'.repeat(2_000)}", error=${canary}, resource_metadata="javascript:${canary}"`;
  return {
    ...Object.fromEntries(types.map(type => [`honest, as ${type}`, withHeaders([['content-type', type]])])),
    'honest, with a notice for the log': withHeaders([
      ['stripe-notice', canary],
      ['warning', `199 - "${canary}"`],
    ]),
    'honest, with odd dates': withHeaders([
      ['date', canary],
      ['expires', '-1'],
      ['retry-after', '-1'],
      ['age', 'NaN'],
    ]),
    'honest, with cookies and links': withHeaders([
      ['set-cookie', canary],
      ['link', `<${canary}>; rel=next`],
      ['refresh', '0'],
    ]),
    'honest, after early hints': ({ status, body }) => ({
      bytes: Buffer.concat([raw(103, [['link', `<${canary}>`]]), whole(status, body).bytes]),
      after: 'keep',
    }),
    'a challenge of 401': withHeaders(
      [
        ['www-authenticate', challenge],
        ['dpop-nonce', canary],
      ],
      401,
    ),
    'a challenge without end': withHeaders(
      [
        ['www-authenticate', 'DPoP error="use_dpop_nonce"'],
        ['dpop-nonce', canary],
      ],
      400,
    ),
    'an empty challenge': withHeaders(
      [
        ['www-authenticate', ''],
        ['dpop-nonce', ''],
      ],
      401,
    ),
    'headers of 256 KiB': withHeaders([['x-padding', canary.repeat((256 * 1024) / canary.length)]]),
    '2,000 headers': withHeaders(Array.from({ length: 2_000 }, (_, at) => [`x-${at}`, canary] as const)),
    'a header with a NUL': withHeaders([['x-a', `\0${canary}`]]),
    'a header without a colon': ({ body }) => ({
      bytes: Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\n${canary}\r\n\r\n`), body]),
      after: 'end',
    }),
  };
}

function framings(canary: string): Record<string, Damage> {
  const gzip = ['content-encoding', 'gzip'] as const;
  const chunked = ['transfer-encoding', 'chunked'] as const;
  const closed = (bytes: Buffer): RawAnswer => ({ bytes, after: 'end' });
  return {
    'a body that is longer than its length': ({ status, body }) => ({
      bytes: raw(status, [jsonType, ['content-length', `${Math.max(0, body.length - 5)}`]], body),
      after: 'keep',
    }),
    'a body that is shorter than its length': ({ status, body }) =>
      closed(raw(status, [jsonType, ['content-length', `${body.length + 100}`]], body)),
    'honest, and a second response': ({ status, body }) => ({
      bytes: Buffer.concat([whole(status, body).bytes, whole(200, JSON.stringify({ error: canary })).bytes]),
      after: 'keep',
    }),
    'a negative length': ({ body }) => closed(raw(200, [jsonType, ['content-length', '-1']], body)),
    'two lengths': ({ body }) => closed(raw(200, [jsonType, ['content-length', '2'], ['content-length', '3']], body)),
    'a length and chunks': ({ body }) => closed(raw(200, [jsonType, chunked, ['content-length', '2']], body)),
    'chunks that are none': () => closed(raw(200, [jsonType, chunked], `zz\r\n${canary}\r\n`)),
    'a chunk of 2^64 bytes': () => closed(raw(200, [jsonType, chunked], `10000000000000000\r\n${canary}`)),
    'chunks without an end': ({ body }) =>
      closed(raw(200, [jsonType, chunked], `${body.length.toString(16)}\r\n${body}\r\n`)),
    'gzip that is none': () => whole(200, canary, [gzip]),
    'gzip cut off': ({ body }) => whole(200, gzipSync(body).subarray(0, 12), [gzip]),
    'gzip of 64 MiB': () => whole(200, zipped64MiB(), [gzip]),
    'gzip in gzip in gzip': ({ body }) =>
      whole(200, gzipSync(gzipSync(gzipSync(body))), [['content-encoding', 'gzip, gzip, gzip, gzip']]),
    'brotli that is gzip': ({ body }) => whole(200, gzipSync(body), [['content-encoding', 'br']]),
    'honest, in brotli': ({ status, body }) => whole(status, brotliCompressSync(body), [['content-encoding', 'br']]),
    'honest, in an unknown encoding': ({ body }) => whole(200, body, [['content-encoding', canary]]),
  };
}

let zipped: Buffer | undefined;
function zipped64MiB(): Buffer {
  zipped ??= gzipSync(Buffer.alloc(64 * MEBIBYTE, 0x20));
  return zipped;
}

function connections(canary: string): Record<string, Damage> {
  const closed = (bytes: Buffer | string) => (): RawAnswer => ({ bytes: Buffer.from(bytes), after: 'end' });
  return {
    'a closed connection': closed(''),
    'a reset connection': () => ({ bytes: Buffer.alloc(0), after: 'reset' }),
    'half of a status line': closed('HTTP/1.'),
    'a reset after half of the headers': () => ({ bytes: Buffer.from('HTTP/1.1 200 OK\r\ncontent-'), after: 'reset' }),
    'a reset in the body': ({ body }) => ({
      bytes: raw(200, [jsonType, ['content-length', '99999']], body),
      after: 'reset',
    }),
    'a TLS alert': closed(Buffer.from([0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28])),
    garbage: closed(Buffer.from(Array.from({ length: 512 }, (_, at) => (at * 7919) % 256))),
    'HTTP/0.9': closed(canary),
    'HTTP/1.0 without a length': ({ body }) => ({
      bytes: Buffer.from(`HTTP/1.0 418 ${canary}\r\n\r\n${body}`),
      after: 'end',
    }),
    'a preface of HTTP/2': closed('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
    'a switch of protocols': () => ({
      bytes: raw(101, [
        ['upgrade', canary],
        ['connection', 'upgrade'],
      ]),
      after: 'end',
    }),
    '1,000 interim responses': () => ({
      bytes: Buffer.concat(Array.from({ length: 1_000 }, () => raw(102, []))),
      after: 'end',
    }),
    'a greeting of SMTP': closed(`220 ${canary} ESMTP\r\n`),
  };
}
