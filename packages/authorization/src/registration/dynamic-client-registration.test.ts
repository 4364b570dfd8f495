import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ServerMetadata } from '../server-metadata.ts';
import { canaries, failureCodeOf } from '../testing/failure-of.ts';
import { createMemoryRegistrationStore } from '../testing/memory-registration-store-fixture.ts';
import {
  clientKey,
  otherRedirectUri,
  RegistrationEndpoint,
  redirectUri,
  replica,
} from '../testing/registration-fixture.ts';

const HOUR = 60 * 60_000;

let endpoint: RegistrationEndpoint;
beforeEach(async () => {
  endpoint = await new RegistrationEndpoint().start();
});
afterEach(() => endpoint.close());

describe('client registrations', () => {
  it('A6, S16: each redirect URI has its own registration', async () => {
    const { register, store } = replica();
    const [one, other] = [
      await register(endpoint.metadata(), redirectUri),
      await register(endpoint.metadata(), otherRedirectUri),
    ];
    expect(one.clientId).not.toBe(other.clientId);
    expect(endpoint.posted.map(body => body['redirect_uris'])).toEqual([[redirectUri.href], [otherRedirectUri.href]]);
    expect(await register(endpoint.metadata(), redirectUri)).toEqual(one);
    expect([...store.values.keys()].every(key => /^[\w-]{43}$/.test(key))).toBe(true);
  });

  it('each authorization server has its own registration', async () => {
    const { register } = replica();
    const issuers = ['https://one.example', 'https://two.example', 'https://one.example'];
    const clients: string[] = [];
    for (const issuer of issuers) clients.push((await register(endpoint.metadata({ issuer }), redirectUri)).clientId);
    expect(clients).toEqual(['client-1', 'client-2', 'client-1']);
  });

  it('S194: an authorization server keeps its client if its metadata adds or drops the slash of an empty path', async () => {
    let now = 0;
    const { register, retire, find } = replica(undefined, { now: () => now });
    const at = (issuer: string) => register(endpoint.metadata({ issuer }), redirectUri);
    const [bare, rooted, path] = ['https://one.example', 'https://one.example/', 'https://one.example/path'] as const;
    expect([(await at(bare)).clientId, (await at(rooted)).clientId]).toEqual(['client-1', 'client-1']);
    expect([(await at(path)).clientId, (await at(`${path}/`)).clientId]).toEqual(['client-2', 'client-3']);
    now = HOUR;
    await retire({ issuer: bare, redirectUri, clientId: 'client-1' });
    expect(await find({ issuer: rooted, redirectUri, clientId: 'client-1' })).toMatchObject({ clientId: 'client-1' });
  });

  it('a record under the key of another registration is refused', async () => {
    const { register, store } = replica();
    await register(endpoint.metadata(), redirectUri);
    await register(endpoint.metadata(), otherRedirectUri);
    const [[first = '', record = ''] = [], [second = '', otherRecord = ''] = []] = [...store.values];
    store.values.set(first, otherRecord).set(second, record);
    expect(await failureCodeOf(register(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
    store.values.set(first, '{');
    expect(await failureCodeOf(register(endpoint.metadata(), redirectUri))).toBe('invalid_registration');
  });
});

describe('one registration for all replicas', () => {
  it('concurrent callers in one process share one registration request', async () => {
    const { register } = replica();
    const found = await Promise.all(Array.from({ length: 50 }, () => register(endpoint.metadata(), redirectUri)));
    expect(new Set(found.map(({ clientId }) => clientId))).toEqual(new Set(['client-1']));
    expect(endpoint.asked).toHaveLength(1);
  });

  /** Both replicas find no registration and send a request before either gets a response. */
  async function race() {
    const store = createMemoryRegistrationStore();
    const replicas = [replica(store), replica(store)];
    endpoint.together = 2;
    const attempts = replicas.map(({ register }) => register(endpoint.metadata(), redirectUri));
    const clients = (await Promise.all(attempts)).map(({ clientId }) => clientId);
    return { store, clients, unused: replicas.flatMap(one => one.unused) };
  }

  it('two concurrent replicas use the registration that is stored first, and delete the other one (RFC 7592)', async () => {
    const { clients, unused, store } = await race();
    const [kept = ''] = clients;
    const spare = kept === 'client-1' ? 'client-2' : 'client-1';
    expect(clients).toEqual([kept, kept]);
    expect(unused).toEqual([{ issuer: endpoint.origin, clientId: spare, deleted: true }]);
    expect(endpoint.asked.filter(({ method }) => method === 'DELETE')).toEqual([
      { method: 'DELETE', path: `/register/${spare}`, authorization: `Bearer ${canaries.accessToken}`, body: {} },
    ]);
    // The registration, its time and its use.
    expect(store.values.size).toBe(3);
  });

  it.each([
    ['refuses the deletion', () => Object.assign(endpoint, { deletion: 403 })],
    ['offers no deletion', () => Object.assign(endpoint, { changes: { registration_client_uri: undefined } })],
    [
      'names a management URL with http',
      () => Object.assign(endpoint, { changes: { registration_client_uri: 'http://a.example' } }),
    ],
    [
      'names a management URL at another host',
      () => Object.assign(endpoint, { changes: { registration_client_uri: 'https://10.0.0.1/' } }),
    ],
  ])('reports an unused client if the authorization server %s', async (_, prepare) => {
    prepare();
    const { clients, unused } = await race();
    expect(new Set(clients).size).toBe(1);
    expect(unused).toMatchObject([{ deleted: false }]);
  });
});

describe('an existing registration', () => {
  it('is replaced for new grants when its secret has expired', async () => {
    let now = 0;
    const { register, find } = replica(undefined, { now: () => now });
    endpoint.changes = { client_secret_expires_at: 100 };
    expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-1' });
    now = 99_999;
    expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-1' });
    now = 100_000;
    endpoint.changes = { client_secret_expires_at: 200 };
    const former = { issuer: endpoint.origin, redirectUri, clientId: 'client-1' };
    // The authorization server decides whether it still accepts the secret.
    expect(await find(former)).toMatchObject({ clientId: 'client-1', clientSecret: canaries.clientSecret });
    expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
    expect(await find(former)).toMatchObject({ clientId: 'client-1', clientSecret: canaries.clientSecret });
  });

  it('is replaced when its client key is no longer configured', async () => {
    const metadata = endpoint.metadata({ token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'] });
    const { register, store } = replica(undefined, { clientKey });
    await register(metadata, redirectUri);
    const { register: registerWithoutKey, find } = replica(store);
    expect(await registerWithoutKey(metadata, redirectUri)).toEqual({
      clientId: 'client-2',
      clientAuthentication: 'none',
    });
    const former = find({ issuer: endpoint.origin, redirectUri, clientId: 'client-1' });
    expect(await failureCodeOf(former)).toBe('client_gone');
  });

  it('is retired only if its own client id was rejected', async () => {
    let now = 0;
    const { register, retire } = replica(undefined, { now: () => now });
    await register(endpoint.metadata(), redirectUri);
    now = HOUR;
    const retired = (clientId: string) => retire({ issuer: endpoint.origin, redirectUri, clientId });
    expect(await retired('client-0')).toBe(false);
    expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-1' });
    expect([await retired('client-1'), await retired('client-1')]).toEqual([true, true]);
    expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
  });

  it('S225: is retired by any replica at the earliest an hour after its registration', async () => {
    let now = 0;
    const { register, store } = replica(undefined, { now: () => now });
    const { retire } = replica(store, { now: () => now });
    const retired = (clientId: string) => retire({ issuer: endpoint.origin, redirectUri, clientId });
    for (const clientId of ['client-1', 'client-2']) {
      expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId });
      now += HOUR - 1;
      expect(await retired(clientId)).toBe(false);
      expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId });
      now += 1;
      expect(await retired(clientId)).toBe(true);
    }
  });

  describe('S225: is replaced if the authorization server says that it no longer knows it', () => {
    const [yes, no, unclear] = [true, false, undefined] as const;
    /** Answers an hour apart, the first one at its registration. Returns which of them replaced the client. */
    async function replacedAfter(answers: readonly (boolean | undefined)[]) {
      let now = 0;
      const { register, retireIfUnknown } = replica(undefined, { now: () => now });
      const { clientId } = await register(endpoint.metadata(), redirectUri);
      const origin = { issuer: endpoint.origin, redirectUri, clientId };
      for (const [nth, answer] of answers.entries()) {
        if (await retireIfUnknown(origin, async () => answer)) return nth;
        now += HOUR;
      }
      return undefined;
    }

    it.each([
      ['after it knew it', [yes, no], 1],
      ['although an answer was unclear before', [yes, unclear, no], 2],
      ['after it knew it once', [no, yes, yes, no], 3],
      ['after no clear answer', [unclear, no], 1],
      ['not if it never knew any', [no, no, no, no], undefined],
      ['not if it knows it', [yes, yes, yes], undefined],
      ['not without a clear answer', [yes, unclear, unclear, unclear], undefined],
    ] as const)('%s', async (_, answers, nth) => {
      expect(await replacedAfter(answers)).toBe(nth);
    });

    it('but not within an hour of its registration, and asks once in ten minutes, whichever replica', async () => {
      let now = 0;
      const first = replica(undefined, { now: () => now });
      const replicas = [first, replica(first.store, { now: () => now })] as const;
      await first.register(endpoint.metadata(), redirectUri);
      const origin = { issuer: endpoint.origin, redirectUri, clientId: 'client-1' };
      const [asked, replaced]: [number[], number[]] = [[], []];
      const isKnown = async () => asked.push(now) === 1;
      for (; now <= HOUR; now += 60_000) {
        for (const { retireIfUnknown } of replicas) if (await retireIfUnknown(origin, isKnown)) replaced.push(now);
      }
      expect(replaced).toEqual([HOUR]);
      // Another client is another question.
      await first.register(endpoint.metadata(), redirectUri);
      expect(await first.retireIfUnknown({ ...origin, clientId: 'client-2' }, isKnown)).toBe(false);
      expect(asked).toEqual([...[0, 1, 2, 3, 4, 5, 6].map(nth => (nth * HOUR) / 6), now]);
    });

    it('and not for a client that is not, or no longer, the one for new grants', async () => {
      const { register, retireIfUnknown } = replica(undefined, { documentUrl: () => new URL('https://a.example/b') });
      const asked = () => Promise.reject(new Error('asked'));
      const origin = { issuer: endpoint.origin, redirectUri };
      expect(await retireIfUnknown({ ...origin, clientId: 'https://a.example/b' }, asked)).toBe(false);
      await register(endpoint.metadata(), redirectUri);
      expect(await retireIfUnknown({ ...origin, clientId: 'client-0' }, asked)).toBe(false);
    });
  });

  /** A replica with former clients for which no more room is left, `client-1` to `client-16`, unless they got no tokens. */
  async function full(used: readonly string[] = Array.from({ length: 16 }, (_, slot) => `client-${slot + 1}`)) {
    let now = 0;
    const { register, retire, find, store, noteUse, giveUp } = replica(undefined, { now: () => now });
    const origin = (clientId: string) => ({ issuer: endpoint.origin, redirectUri, clientId });
    const at = {
      store,
      use: (clientId: string) => noteUse(origin(clientId)),
      givenUp: (clientId: string, since: number) => giveUp(origin(clientId), since),
      current: async () => (await register(endpoint.metadata(), redirectUri)).clientId,
      retired: async (clientId: string) => retire({ issuer: endpoint.origin, redirectUri, clientId }),
      of: (clientId: string | undefined) => find({ issuer: endpoint.origin, redirectUri, clientId }),
      wait(ms: number) {
        now += ms;
      },
    };
    for (let nth = 1; nth <= 16; nth += 1) {
      const clientId = await at.current();
      if (used.includes(clientId)) await at.use(clientId);
      at.wait(HOUR);
      expect(await at.retired(clientId)).toBe(true);
    }
    return at;
  }

  type Full = Awaited<ReturnType<typeof full>>;

  it('S225: is not retired if a former client would have to give way, whose grants would end', async () => {
    const { store, current, retired, of, wait } = await full();
    expect(await current()).toBe('client-17');
    wait(HOUR);
    const before = new Map(store.values);
    expect(await retired('client-17')).toBe(false);
    expect(await current()).toBe('client-17');
    expect(store.values).toEqual(before);
    for (let nth = 1; nth <= 17; nth += 1) {
      expect(await of(`client-${nth}`)).toMatchObject({
        clientId: `client-${nth}`,
        clientSecret: canaries.clientSecret,
      });
    }
    expect(await of('client-0')).toBeUndefined();
    expect(endpoint.asked).toHaveLength(17);
  });

  it('S225: is kept for new grants after the expiry of its secret if a former client would have to give way', async () => {
    const { store, current, of, wait } = await full();
    // Nothing says which client it was.
    expect(await of(undefined)).toBeUndefined();
    endpoint.changes = { client_secret_expires_at: (18 * HOUR) / 1000 };
    expect(await current()).toBe('client-17');
    const before = new Map(store.values);
    wait(2 * HOUR);
    expect(await current()).toBe('client-17');
    expect(store.values).toEqual(before);
  });

  it.each([
    ['got no tokens', 'client-7', async () => {}],
    [
      'got no tokens for a week',
      'client-3',
      async ({ use, wait }: Full) => {
        wait(7 * 24 * HOUR - 3 * HOUR);
        for (let nth = 4; nth <= 16; nth += 1) await use(`client-${nth}`);
        await Promise.all([use('client-1'), use('client-2')]);
      },
    ],
    ['was refused at every refresh', 'client-5', ({ givenUp }: Full) => givenUp('client-5', 16 * HOUR)],
  ])('S225: takes the place of a former client that %s, and of no other', async (_, gone, prepare) => {
    const used = Array.from({ length: 16 }, (_, slot) => `client-${slot + 1}`).filter(
      clientId => gone !== 'client-7' || clientId !== gone,
    );
    const at = await full(used);
    expect(await at.current()).toBe('client-17');
    await at.use('client-17');
    await prepare(at);
    at.wait(HOUR);
    const records = at.store.values.size;
    expect(await at.retired('client-17')).toBe(true);
    expect(await at.current()).toBe('client-18');
    expect(await at.of(gone)).toBeUndefined();
    for (const clientId of [...used, 'client-17'].filter(name => name !== gone))
      expect(await at.of(clientId)).toMatchObject({ clientId });
    // Nothing of the one that is gone stays.
    expect(at.store.values.size).toBe(records);
    at.wait(HOUR);
    await at.use('client-18');
    expect(await at.retired('client-18')).toBe(false);
  });

  it('S225: keeps a former client whose use is unknown for a week', async () => {
    const at = await full();
    expect(await at.current()).toBe('client-17');
    for (const [key, value] of at.store.values) if (/^\d+$/.test(value)) at.store.values.delete(key);
    at.wait(HOUR);
    expect(await at.retired('client-17')).toBe(false);
    at.wait(7 * 24 * HOUR - 1);
    expect(await at.retired('client-17')).toBe(false);
    at.wait(1);
    expect(await at.retired('client-17')).toBe(true);
    expect(await at.of('client-1')).toBeUndefined();
  });

  it('S225: is replaced again and again if the secrets of former clients have expired too', async () => {
    endpoint.changes = { client_secret_expires_at: (20 * HOUR) / 1000 };
    const { current, of, wait, store } = await full();
    expect(await current()).toBe('client-17');
    wait(4 * HOUR);
    endpoint.changes = { client_secret_expires_at: (30 * HOUR) / 1000 };
    expect(await current()).toBe('client-18');
    expect(await of('client-17')).toMatchObject({ clientId: 'client-17' });
    expect(await of('client-16')).toMatchObject({ clientId: 'client-16' });
    // The current client and its formers, their use, and the time of the last registration.
    expect(store.values.size).toBe(35);
  });

  it('S225: keeps its grants if another replica retires another client at the same time', async () => {
    let now = 0;
    const store = createMemoryRegistrationStore();
    const { register, retire, find } = replica(store, { now: () => now });
    await register(endpoint.metadata(), redirectUri);
    now = HOUR;
    const { putIfAbsent } = store;
    store.putIfAbsent = (key, value) => {
      store.putIfAbsent = putIfAbsent;
      store.values.set(key, value.replace('client-1', 'client-other'));
      return putIfAbsent(key, value);
    };
    expect(await retire({ issuer: endpoint.origin, redirectUri, clientId: 'client-1' })).toBe(true);
    expect(await register(endpoint.metadata(), redirectUri)).toMatchObject({ clientId: 'client-2' });
    for (const clientId of ['client-1', 'client-other', 'client-2'])
      expect(await find({ issuer: endpoint.origin, redirectUri, clientId })).toMatchObject({ clientId });
  });

  it('S225: takes the place of a former client with the same id', async () => {
    let now = 0;
    const { register, retire, find, store } = replica(undefined, { now: () => now });
    const origin = { issuer: endpoint.origin, redirectUri, clientId: 'always' };
    for (let nth = 1; nth <= 20; nth += 1) {
      endpoint.changes = { client_id: 'always', client_secret: `secret-${nth}` };
      await register(endpoint.metadata(), redirectUri);
      now += HOUR;
      expect(await retire(origin)).toBe(true);
      expect(await find(origin)).toMatchObject({ clientSecret: `secret-${nth}` });
    }
    // One former client with its use, and the time of the last registration.
    expect(store.values.size).toBe(3);
  });

  it('is kept when the authorization server starts to support Client ID Metadata Documents', async () => {
    const documentUrl = () => new URL('https://postern.example/oauth/clients/issues/tracker.json');
    const { register } = replica(undefined, { documentUrl });
    await register(endpoint.metadata(), redirectUri);
    const metadata = endpoint.metadata({ client_id_metadata_document_supported: true });
    expect(await register(metadata, redirectUri)).toMatchObject({ clientId: 'client-1' });
    expect(await register(metadata, otherRedirectUri)).toMatchObject({ clientId: documentUrl().href });
  });
});

describe('MCP: a Client ID Metadata Document takes precedence over registration', () => {
  const href = 'https://postern.example/oauth/clients/issues/tracker.json';
  const offered = (changes: Partial<ServerMetadata> = {}) =>
    endpoint.metadata({ client_id_metadata_document_supported: true, ...changes });

  it('with its URL as client id, without a secret, a request or a record', async () => {
    const { register, store } = replica(undefined, { documentUrl: () => new URL(href) });
    expect(await register(offered(), redirectUri)).toEqual({ clientId: href, clientAuthentication: 'none' });
    expect(endpoint.asked).toEqual([]);
    expect(store.values.size).toBe(0);
  });

  it('S225: for its grants, whatever the authorization server supports by now, also without a recorded client', async () => {
    const { register, find } = replica(undefined, { documentUrl: () => new URL(href) });
    await register(offered(), redirectUri);
    const origin = { issuer: endpoint.origin, redirectUri };
    for (const clientId of [href, undefined]) {
      expect(await find({ ...origin, clientId })).toEqual({ clientId: href, clientAuthentication: 'none' });
    }
    await register(offered({ client_id_metadata_document_supported: false }), redirectUri);
    expect(await find({ ...origin, clientId: href })).toEqual({ clientId: href, clientAuthentication: 'none' });
  });

  it('with private_key_jwt if a client key is configured', async () => {
    const { register } = replica(undefined, { documentUrl: () => new URL(href), clientKey });
    const expected = { clientId: href, clientAuthentication: 'private_key_jwt', clientKey };
    expect(await register(offered(), redirectUri)).toEqual(expected);
  });

  it.each([
    ['the authorization server does not support it', href, { client_id_metadata_document_supported: false }],
    ['the gateway has no https URL', 'http://postern.example/oauth/clients/issues/tracker.json', {}],
    ['the gateway is on loopback', 'https://localhost/oauth/clients/issues/tracker.json', {}],
    [
      'the authorization server accepts no public clients',
      href,
      { token_endpoint_auth_methods_supported: ['client_secret_basic'] },
    ],
  ])('except if %s', async (_, url, changes) => {
    const { register } = replica(undefined, { documentUrl: () => new URL(url) });
    expect(await register(offered(changes), redirectUri)).toMatchObject({ clientId: 'client-1' });
  });
});
