import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { readBody } from './read-body.ts';

let server: Server;
let client: Socket;
let raw: IncomingMessage;
beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write('POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n');
  [raw] = await once(server, 'request');
});
afterEach(() => {
  client.destroy();
  server.close();
});

const read = (limit?: number) =>
  readBody({ raw, headers: raw.headers, routeOptions: { bodyLimit: 5 } } as never, limit);

it('S232: copies the pieces of a body and keeps none', async () => {
  const pieces: Buffer[] = [];
  raw.on('data', piece => pieces.push(piece));
  const body = read();
  raw.on('data', piece => piece.fill('x'));
  client.write('1\r\na\r\n2\r\nbc\r\n2\r\nde\r\n0\r\n\r\n');
  expect(String(await body)).toBe('abcde');
  expect(String(Buffer.concat(pieces))).toBe('xxxxx');
});

it('refuses a body that is longer than the limit of the route, or than a lower one', async () => {
  const body = read(4);
  client.write('4\r\nabcd\r\n1\r\ne\r\n');
  await expect(body).rejects.toMatchObject({ code: 'payload_too_large' });
  expect(() =>
    readBody({ raw, headers: { 'content-length': '6' }, routeOptions: { bodyLimit: 5 } } as never),
  ).toThrow();
});

it('ends with the connection, also one that has ended before', async () => {
  const body = read();
  const ended = expect(body).rejects.toThrow();
  client.destroy();
  await ended;
  await expect(read()).rejects.toThrow();
});
