import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidRequestStateError } from '../errors.ts';
import { OwnRequestState } from '../gate/create-gate.ts';
import { assertBinding, createRequestStateCodec, deriveStateKey, type RequestState } from './request-state.ts';

const now = () => 1_800_000_000_000;
const key = (kid: string, fill: number) => ({ kid, key: new Uint8Array(32).fill(fill) });
const state: RequestState = {
  issuer: 'https://idp.example.com',
  subject: 'alice',
  tool: 'create_issue',
  args: 'digest-of-arguments',
  call: { id: '00000000-0000-4000-8000-000000000000', startedAt: now() },
  asks: [
    {
      key: 'digest-of-ask',
      place: 0,
      kind: 'confirmation',
      terms: { title: 'Send it' },
      askedAt: now(),
      expiresAt: now() + 600_000,
      redemption: 'r-1',
      elicitationId: 'el-1',
    },
  ],
  open: 'digest-of-ask',
  phase: 'ask',
  round: 1,
  exp: now() / 1000 + 600,
};

const reason = async (opening: Promise<unknown>) =>
  await opening.then(
    () => 'opened',
    (error: unknown) => (error instanceof InvalidRequestStateError ? error.reason : error),
  );

describe('S12 the codec of requestState', () => {
  const codec = createRequestStateCodec([key('a', 1)], now);

  test('opens what it sealed', async () => {
    expect(await codec.open(await codec.seal(state))).toEqual(state);
  });

  test('every seal of the same state differs', async () => {
    expect(await codec.seal(state)).not.toBe(await codec.seal(state));
  });

  test('refuses every altered character', async () => {
    const sealed = await codec.seal(state);
    await fc.assert(
      fc.asyncProperty(fc.nat(sealed.length - 1), fc.constantFrom('A', 'b', '7', '-'), async (at, character) => {
        // The last character of each base64url part may contain unused bits. A character that changes no byte changes nothing.
        const altered = sealed.slice(0, at) + character + sealed.slice(at + 1);
        fc.pre(bytes(altered) !== bytes(sealed));
        expect(await reason(codec.open(altered))).not.toBe('opened');
      }),
    );
  });

  test.each(['', 'x', 'a.b.c', 'a.b.c.d.e', 'e30.e30.e30.e30.e30', 'A'.repeat(70_000)])(
    'refuses a foreign state: %.20s',
    async sealed => {
      expect(await reason(codec.open(sealed))).toBe('malformed');
    },
  );

  test('refuses an unknown key', async () => {
    const other = createRequestStateCodec([key('b', 1)], now);
    expect(await reason(codec.open(await other.seal(state)))).toBe('unknown_key');
  });

  test('refuses another key under a known id', async () => {
    const other = createRequestStateCodec([key('a', 2)], now);
    expect(await reason(codec.open(await other.seal(state)))).toBe('forged');
  });

  test('refuses an authentic state of another shape', async () => {
    const { CompactEncrypt } = await import('jose');
    const sealed = await new CompactEncrypt(new TextEncoder().encode('{"elicitationId":"el-1"}'))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: 'postern-request-state', kid: 'a' })
      .encrypt(key('a', 1).key);
    expect(await reason(codec.open(sealed))).toBe('malformed');
  });

  test('refuses a state that was sealed as something else under the same key', async () => {
    const { CompactEncrypt } = await import('jose');
    const sealed = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify(state)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: 'something-else', kid: 'a' })
      .encrypt(key('a', 1).key);
    expect(await reason(codec.open(sealed))).toBe('malformed');
  });

  test('refuses a state from the second of its expiry on', async () => {
    expect(await reason(codec.open(await codec.seal({ ...state, exp: now() / 1000 })))).toBe('expired');
    expect(await reason(codec.open(await codec.seal({ ...state, exp: now() / 1000 + 1 })))).toBe('opened');
  });

  test('the first key seals, and all keys open', async () => {
    const rotated = createRequestStateCodec([key('b', 2), key('a', 1)], now);
    expect(await rotated.open(await codec.seal(state))).toEqual(state);
    expect(await reason(codec.open(await rotated.seal(state)))).toBe('unknown_key');
  });

  test('copies the given keys', async () => {
    const mine = key('a', 1);
    const copying = createRequestStateCodec([mine], now);
    mine.key.fill(9);
    expect(await copying.open(await codec.seal(state))).toEqual(state);
  });

  test.each([[[]], [[{ kid: 'a', key: new Uint8Array(16) }]], [[key('a', 1), key('a', 2)]]])(
    'refuses unusable keys: case %#',
    keys => {
      expect(() => createRequestStateCodec(keys, now)).toThrow(expect.objectContaining({ code: 'invalid_options' }));
    },
  );
});

test('a derived key is equal on every replica, and differs between API keys', () => {
  const derived = deriveStateKey('api-key-one');
  expect(deriveStateKey('api-key-one')).toEqual(derived);
  expect(deriveStateKey('api-key-two').kid).not.toBe(derived.kid);
  expect(derived.key.byteLength).toBe(32);
});

test.each([
  ['issuer', 'other_subject'],
  ['subject', 'other_subject'],
  ['tool', 'other_tool'],
  ['args', 'other_arguments'],
] as const)('a state is bound to the %s', (member, expected) => {
  expect(() => assertBinding(state, state)).not.toThrow();
  expect(() => assertBinding(state, { ...state, [member]: 'other' })).toThrow(
    expect.objectContaining({ reason: expected }),
  );
});

test('S229: an authentic state shows nothing to handlers that are not wrapped', () => {
  const own = new OwnRequestState('sealed');
  expect([Object.keys(own), JSON.stringify(own), String(own)]).toEqual([[], '{}', '[object Object]']);
  expect(OwnRequestState.sealedIn(own)).toBe('sealed');
  expect(OwnRequestState.sealedIn({ sealed: 'sealed' })).toBeUndefined();
});

function bytes(sealed: string): string {
  return sealed
    .split('.')
    .map(part => Buffer.from(part, 'base64url').toString('hex'))
    .join('.');
}
