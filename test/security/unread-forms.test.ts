import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { apiKeyRequest, deletion, issueFor, visitorFor } from '../support/asks.ts';
import { startWorld, type World } from '../support/world.ts';

const LARGE = 300 * 1024;
/** Limit of a form without fields to type in. */
const OWN_BYTES = 16 * 1024;
const UNKNOWN = `el_00${'c'.repeat(43)}`;

let world: World;
const sockets: Socket[] = [];
beforeAll(async () => {
  world = await startWorld();
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => world?.[Symbol.asyncDispose]());

/**
 * Sends only the beginning of a form and returns the status of the response. @param length the announced length;
 * `unknown`: a first chunk above the maximum form size, without an end
 */
async function statusOfUnfinished(
  path: string,
  length: number | 'unknown',
  cookies: ReadonlyMap<string, string> = new Map(),
) {
  const { hostname, port } = new URL(world.gateways[0]?.address ?? '');
  const socket = connect(Number(port), hostname);
  sockets.push(socket);
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: gate\r\norigin: ${world.publicUrl}\r\nsec-fetch-site: same-origin\r\n` +
      `content-type: application/x-www-form-urlencoded\r\n` +
      `${length === 'unknown' ? 'transfer-encoding: chunked' : `content-length: ${length}`}\r\n` +
      `${cookie === '' ? '' : `cookie: ${cookie}\r\n`}\r\n` +
      (length === 'unknown' ? `${LARGE.toString(16)}\r\n${'x'.repeat(LARGE)}\r\n` : 'csrf_token=x'),
  );
  const [answer] = await once(socket, 'data');
  return Number(String(answer).slice('HTTP/1.1 '.length).split(' ', 1)[0]);
}

describe('S75: the gateway identifies the browser before it reads a form', () => {
  it.each(['/accept', '/decline', '/passkey', '/passkey/new', '/charge', '/device'])(
    'POST %s without a session answers before its body has arrived',
    async route => {
      const { elicitationId } = await issueFor(world, world.subject(), {
        kind: 'credential',
        credential: apiKeyRequest,
      });
      for (const id of [elicitationId, UNKNOWN]) expect(await statusOfUnfinished(`/e/${id}${route}`, LARGE)).toBe(401);
    },
  );

  it('POST below /me without a session likewise answers before its body has arrived', async () => {
    expect(await statusOfUnfinished('/me/passkeys/new', LARGE)).toBe(401);
    expect(await statusOfUnfinished(`/me/credentials/${UNKNOWN}/delete`, LARGE)).toBe(401);
  });
});

describe('S75: a form accepts only its own fields', () => {
  async function asked(ask: Parameters<typeof issueFor>[2]) {
    const user = world.subject();
    const { elicitationId } = await issueFor(world, user, ask);
    const raw = await visitorFor(world, user, elicitationId);
    const form = await raw.acceptForm(elicitationId);
    return { raw, form, path: `/e/${elicitationId}/accept` };
  }

  it('a longer body is refused with 413, with and without Content-Length', async () => {
    const { raw, form, path } = await asked({ kind: 'confirmation', confirmation: deletion });
    expect(await statusOfUnfinished(path, OWN_BYTES + 1, raw.cookies)).toBe(413);
    expect(await statusOfUnfinished(path, 'unknown', raw.cookies)).toBe(413);
    expect((await raw.post(path, { form })).status).toBe(303);
  });

  it('more fields than the page has are refused with 400', async () => {
    const { raw, form, path } = await asked({ kind: 'confirmation', confirmation: deletion });
    const body = new URLSearchParams(form).toString();
    expect((await raw.post(path, { form: `${body}&a&b&c` })).status).toBe(400);
    expect((await raw.post(path, { form: `${body}${'&'.repeat(500)}` })).status).toBe(400);
    expect((await raw.post(path, { form: body })).status).toBe(303);
  });
});
