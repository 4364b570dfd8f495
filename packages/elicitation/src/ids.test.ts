import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  connectionIdOf,
  digestOf,
  type Entropy,
  isSameSubject,
  matchCodeOf,
  newAuthorizationState,
  newBrowserSessionId,
  newElicitationId,
  newOperationId,
  newVerificationId,
  parseAuthorizationState,
  parseBrowserSessionId,
  parseConnectionId,
  parseElicitationId,
  parseVerificationId,
  SHARDS,
  shardIn,
  shardOf,
  systemEntropy,
} from './ids.ts';

const alice = { issuer: 'https://id.example.com', subject: 'alice' };
const shard = shardOf(alice);

const ids = [
  { prefix: 'el', make: newElicitationId, parse: parseElicitationId },
  { prefix: 'bs', make: newBrowserSessionId, parse: parseBrowserSessionId },
  { prefix: 'st', make: newAuthorizationState, parse: parseAuthorizationState },
  { prefix: 'vf', make: newVerificationId, parse: parseVerificationId },
] as const;
const parsers = { ...Object.fromEntries(ids.map(({ prefix, parse }) => [prefix, parse])), cn: parseConnectionId };

describe('shards', () => {
  test('the shard of a subject never changes, because stored ids and keys depend on it', () => {
    expect(shardOf(alice)).toBe('0b');
    expect(shardOf({ issuer: 'https://id.example.com', subject: 'bob' })).toBe('59');
  });

  test('there are 256 shards, two hex digits each', () => {
    expect(new Set(SHARDS).size).toBe(256);
    expect(SHARDS.every(each => /^[0-9a-f]{2}$/.test(each))).toBe(true);
  });

  test('the boundary between issuer and subject affects the shard', () => {
    const parts = Array.from({ length: 9 }, (_, cut) => ['abcdefghi'.slice(0, cut), 'abcdefghi'.slice(cut)] as const);
    const shards = parts.map(([issuer, subject]) => shardOf({ issuer, subject }));
    expect(new Set(shards).size).toBeGreaterThan(1);
  });

  test('users are spread over all shards', () => {
    const counts = new Map<string, number>();
    for (let n = 0; n < 256 * 64; n += 1) {
      const each = shardOf({ issuer: alice.issuer, subject: `user-${n}` });
      counts.set(each, (counts.get(each) ?? 0) + 1);
    }
    expect(counts.size).toBe(256);
    expect(Math.max(...counts.values())).toBeLessThan(64 * 2);
  });
});

describe('S45 ids', () => {
  test.each(ids)('$prefix: prefix, shard, 256 bits from the source, base64url', ({ prefix, make, parse }) => {
    const asked: number[] = [];
    const bytes = Uint8Array.from({ length: 32 }, (_, n) => 255 - n);
    const entropy: Entropy = length => {
      asked.push(length);
      return bytes;
    };
    const id = make(shard, entropy);
    expect(asked).toEqual([32]);
    expect(asked.reduce((sum, length) => sum + length * 8, 0)).toBeGreaterThanOrEqual(256);
    expect(id).toMatch(new RegExp(`^${prefix}_${shard}[A-Za-z0-9_-]{43}$`));
    // The id contains all random bits.
    expect(Uint8Array.from(Buffer.from(id.slice(5), 'base64url'))).toEqual(bytes);
    expect(parse(id)).toBe(id);
    expect(shardIn(id)).toBe(shard);
  });

  test.each(ids)('$prefix: ids are unique', ({ make }) => {
    expect(new Set(Array.from({ length: 1_000 }, () => make(shard, systemEntropy))).size).toBe(1_000);
  });

  test.each(ids)('$prefix parses only its own kind of id', ({ prefix, make }) => {
    const id = make(shard, systemEntropy);
    for (const [other, parse] of Object.entries(parsers)) expect(parse(id)).toBe(other === prefix ? id : undefined);
  });

  test.each([
    ['empty', () => ''],
    ['without the prefix', (id: string) => id.slice(3)],
    ['in capitals', (id: string) => id.toUpperCase()],
    ['one short', (id: string) => id.slice(0, -1)],
    ['one long', (id: string) => `${id}A`],
    ['with a line break behind', (id: string) => `${id}\n`],
    ['with a blank before', (id: string) => ` ${id}`],
    ['with a shard that is none', (id: string) => `${id.slice(0, 3)}zz${id.slice(5)}`],
    ['in standard base64', (id: string) => `${id.slice(0, -1)}+`],
    ['with a path in it', (id: string) => `${id.slice(0, 20)}/../${id.slice(24)}`],
    ['with a hash tag in it', (id: string) => `${id.slice(0, 20)}{a}${id.slice(23)}`],
  ])('refused: %s', (_, spoil) => {
    for (const { make, parse } of ids) expect(parse(spoil(make(shard, systemEntropy)))).toBeUndefined();
    expect(parseConnectionId(spoil(connectionIdOf({ owner: 'o', subject: alice, provider: 'p' })))).toBeUndefined();
  });

  test('an operation id has 128 bits', () => {
    expect(newOperationId(length => new Uint8Array(length).fill(255))).toBe(
      Buffer.alloc(16, 255).toString('base64url'),
    );
    expect(new Set(Array.from({ length: 1_000 }, () => newOperationId(systemEntropy))).size).toBe(1_000);
  });

  test('the system source returns the requested number of bytes', () => {
    expect(systemEntropy(32)).toHaveLength(32);
  });

  test('no file in the package uses a predictable random source', () => {
    const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.ts') && !path.endsWith('.test.ts'))
      .map(path => ({ path, text: readFileSync(`${import.meta.dirname}/${path}`, 'utf8') }));
    expect(sources.length).toBeGreaterThan(10);
    expect(sources.filter(({ text }) => /Math\s*\.\s*random|randomUUID|pseudoRandom/.test(text))).toEqual([]);
  });
});

describe('connection ids', () => {
  const base = { owner: 'issue-tracker', subject: alice, provider: 'github' };

  test('the same owner, subject, provider and resource always lead to the same id, in the shard of the subject', () => {
    expect(connectionIdOf(base)).toBe('cn_0bKgYXapgjRmk5v7DXRPrhVD2pof7r9S4mx22RaKKe11s');
    expect(connectionIdOf({ ...base, resource: undefined })).toBe(connectionIdOf(base));
    expect(parseConnectionId(connectionIdOf(base))).toBe(connectionIdOf(base));
    expect(shardIn(connectionIdOf(base))).toBe(shard);
  });

  test('a different member leads to a different id', () => {
    const others = [
      base,
      { ...base, owner: 'calendar' },
      { ...base, provider: 'gitlab' },
      { ...base, subject: { ...alice, subject: 'bob' } },
      { ...base, subject: { ...alice, issuer: 'https://other.example.com' } },
      { ...base, resource: 'https://api.example.com' },
      { ...base, resource: '' },
    ];
    expect(new Set(others.map(connectionIdOf)).size).toBe(others.length);
  });

  test.each(ids)('a connection id does not parse as $prefix', ({ parse }) => {
    expect(parse(connectionIdOf(base))).toBeUndefined();
  });
});

describe('digest', () => {
  test('a digest is SHA-256 in base64url', () => {
    expect(digestOf('abc')).toBe('ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0');
  });
});

describe('match code', () => {
  const code = (id: string) => matchCodeOf(id as `el_${string}`);
  const many = Array.from({ length: 20_000 }, (_, n) => code(`el_0b${digestOf(`${n}`)}`));

  test('the match code of an id is always the same', () => {
    expect(code(`el_0b${'A'.repeat(43)}`)).toBe(code(`el_0b${'A'.repeat(43)}`));
    expect(code(`el_0b${'A'.repeat(43)}`)).toBe('FR-HE');
  });

  test('match codes use no characters that look alike', () => {
    const letters = new Set(many.join('').replaceAll('-', ''));
    expect([...letters].sort().join('')).toBe('34679ACDEFGHJKLMNPQRTUVWXY');
    for (const misread of '0O1I2Z5S8B') expect(letters.has(misread)).toBe(false);
    expect(many.every(each => /^[A-Z0-9]{2}-[A-Z0-9]{2}$/.test(each))).toBe(true);
  });

  test('match codes are evenly distributed at every position', () => {
    for (const place of [0, 1, 3, 4]) {
      const counts = new Map<string, number>();
      for (const each of many) counts.set(each.charAt(place), (counts.get(each.charAt(place)) ?? 0) + 1);
      const expected = many.length / 26;
      expect(counts.size).toBe(26);
      for (const count of counts.values()) expect(Math.abs(count - expected) / expected).toBeLessThan(0.2);
    }
    // 20,000 draws from 456,976 codes collide about 432 times by chance.
    expect(new Set(many).size).toBeGreaterThan(19_400);
  });

  test('a match code reveals nothing about the id', () => {
    // Similar ids have unrelated codes.
    expect(code(`el_0b${'A'.repeat(42)}E`)).toBe('HY-YM');
  });
});

describe('subject', () => {
  const alice = { issuer: 'https://id.example.com', subject: 'a1b2' };

  test('S05 the same issuer and identifier are the same person', () => {
    expect(isSameSubject(alice, { ...alice })).toBe(true);
  });

  test.each([
    ['another identifier at the same issuer', { ...alice, subject: 'a1b3' }],
    ['the same identifier at another issuer', { ...alice, issuer: 'https://other.example.com' }],
    ['an issuer with a slash behind', { ...alice, issuer: 'https://id.example.com/' }],
    ['an issuer in other letters', { ...alice, issuer: 'https://ID.example.com' }],
    ['an issuer with its port spelled out', { ...alice, issuer: 'https://id.example.com:443' }],
    ['an identifier in other letters', { ...alice, subject: 'A1B2' }],
    ['an identifier with a blank', { ...alice, subject: 'a1b2 ' }],
    ['issuer and identifier exchanged', { issuer: alice.subject, subject: alice.issuer }],
  ])('S05 %s is another person', (_, other) => {
    expect(isSameSubject(alice, other)).toBe(false);
    expect(isSameSubject(other, alice)).toBe(false);
  });

  test('S05 identifiers that only look the same in Unicode are different people', () => {
    expect(isSameSubject({ ...alice, subject: 'é' }, { ...alice, subject: 'e\u0301' })).toBe(false);
  });

  test('S05 no other fact about a person counts', () => {
    const known = { email: 'alice@example.com', name: 'Alice' };
    expect(isSameSubject({ ...alice, ...known }, { ...alice, subject: 'other', ...known } as typeof alice)).toBe(false);
    expect(isSameSubject({ ...alice, ...known }, { ...alice, email: 'new@example.com' } as typeof alice)).toBe(true);
  });
});
