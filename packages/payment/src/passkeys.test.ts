import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import type { Passkey, Subject } from '@postern/elicitation';
import { describe, expect, it, vi } from 'vitest';
import { createPasskeys } from './create-passkeys.ts';
import { passkeyChallenge, passkeyRpIdOf } from './passkeys.ts';
import { type Deviation, SoftwareAuthenticator } from './testing/software-authenticator.ts';

const ORIGIN = 'https://postern.example.com';
const RP_ID = 'postern.example.com';
const passkeys = createPasskeys({ rpId: RP_ID, rpName: 'Postern', origin: ORIGIN });

const alice: Subject = { issuer: 'https://id.example.com', subject: 'alice' };
const bob: Subject = { issuer: 'https://id.example.com', subject: 'bob' };

const terms = { nonce: randomBytes(16), digest: randomBytes(32).toString('base64url'), elicitationId: 'el_one' };
const challenge = passkeyChallenge(terms);
const otherChallenges: Record<string, Uint8Array> = {
  'another nonce': passkeyChallenge({ ...terms, nonce: randomBytes(16) }),
  'other terms': passkeyChallenge({ ...terms, digest: randomBytes(32).toString('base64url') }),
  'another elicitation': passkeyChallenge({ ...terms, elicitationId: 'el_two' }),
};

async function create(authenticator: SoftwareAuthenticator, subject: Subject, deviation?: Deviation) {
  const options = await passkeys.registrationOptions({ subject, displayName: 'Alice A.', challenge, existing: [] });
  return authenticator.create(options, deviation);
}

async function enrol(authenticator: SoftwareAuthenticator, subject: Subject, deviation?: Deviation): Promise<Passkey> {
  const response = await create(authenticator, subject, deviation);
  const passkey = await passkeys.verifyRegistration({ response, challenge, subject });
  return { ...passkey, createdAt: 0 };
}

async function assertionOf(authenticator: SoftwareAuthenticator, known: readonly Passkey[], deviation?: Deviation) {
  return authenticator.get(await passkeys.assertionOptions({ challenge, passkeys: known }), deviation);
}

const invalid = (reason: string) => ({ name: 'PasskeyError', code: 'invalid', reason });

/** Deviations that both ceremonies reject. */
const deviations: readonly [string, Deviation, string][] = [
  ['another origin', { origin: 'https://postern.example.com.evil.example' }, 'origin'],
  ['another scheme', { origin: 'http://postern.example.com' }, 'origin'],
  ['another port', { origin: `${ORIGIN}:8443` }, 'origin'],
  ['a subdomain', { origin: 'https://shop.postern.example.com' }, 'origin'],
  ['inside a frame of another site', { crossOrigin: true }, 'origin'],
  ['another RP id', { rpId: 'example.com' }, 'rejected'],
  ['another challenge', { challenge: Buffer.from('other').toString('base64url') }, 'challenge'],
  ['no challenge', { challenge: '' }, 'challenge'],
  ['no user verification', { verified: false }, 'rejected'],
  ['no user presence', { present: false }, 'rejected'],
];

describe('options', () => {
  it('the options for a new passkey require user verification and no attestation', async () => {
    const existing = await enrol(new SoftwareAuthenticator(ORIGIN), alice);
    const p = { subject: alice, displayName: 'Alice A.', challenge, existing: [existing] };
    const options = await passkeys.registrationOptions(p);
    expect(options).toMatchObject({
      rp: { id: RP_ID, name: 'Postern' },
      user: { name: 'Alice A.', displayName: 'Alice A.' },
      challenge: Buffer.from(challenge).toString('base64url'),
      attestation: 'none',
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      excludeCredentials: [{ id: existing.passkeyId, type: 'public-key', transports: ['internal', 'hybrid'] }],
      pubKeyCredParams: [-8, -7, -257].map(alg => ({ alg, type: 'public-key' })),
    });
    expect(Buffer.from(options.user.id, 'base64url').byteLength).toBe(32);
    expect(JSON.stringify(options)).not.toContain('alice');
  });

  it('the options contain one user handle per user', async () => {
    const handleOf = async (subject: Subject) =>
      (await passkeys.registrationOptions({ subject, displayName: 'x', challenge, existing: [] })).user.id;
    const elsewhere = { issuer: 'https://other.example', subject: 'alice' };
    const shifted = { issuer: `${alice.issuer}a`, subject: 'lice' };
    const handles = await Promise.all([alice, { ...alice }, bob, elsewhere, shifted].map(handleOf));
    expect(handles[0]).toBe(handles[1]);
    expect(new Set(handles).size).toBe(4);
  });

  it('the options for an assertion name the passkeys of the user and require verification', async () => {
    const known = [await enrol(new SoftwareAuthenticator(ORIGIN), alice)];
    expect(await passkeys.assertionOptions({ challenge, passkeys: known })).toMatchObject({
      rpId: RP_ID,
      challenge: Buffer.from(challenge).toString('base64url'),
      userVerification: 'required',
      allowCredentials: [{ id: known[0]?.passkeyId, type: 'public-key' }],
    });
  });
});

describe('a new passkey', () => {
  it.each(['ES256', 'EdDSA', 'RS256'] as const)('a new passkey with %s is registered and approves', async algorithm => {
    const authenticator = new SoftwareAuthenticator(ORIGIN, { algorithm });
    const passkey = await enrol(authenticator, alice, { backedUp: true });
    expect(passkey).toMatchObject({
      passkeyId: authenticator.credentialId,
      subject: alice,
      signCount: 0,
      transports: ['internal', 'hybrid'],
      backedUp: true,
      label: 'Passkey',
    });
    const response = await assertionOf(authenticator, [passkey]);
    expect(await passkeys.verifyAssertion({ response, challenge, passkeys: [passkey] })).toEqual({
      passkeyId: authenticator.credentialId,
      signCount: 0,
      backedUp: false,
    });
  });

  it('a new passkey is labelled with its provider', async () => {
    const aaguid = 'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4';
    const passkey = await enrol(new SoftwareAuthenticator(ORIGIN), alice, { aaguid });
    expect(passkey.label).toBe('Google Password Manager');
  });

  it('a new passkey keeps only well-formed transports', async () => {
    const response = await create(new SoftwareAuthenticator(ORIGIN), alice);
    const odd = { ...response, response: { ...response.response, transports: ['usb', '<b>', 'x'.repeat(99)] } };
    expect(await passkeys.verifyRegistration({ response: odd, challenge, subject: alice })).toMatchObject({
      transports: ['usb'],
    });
  });

  it.each([
    ...deviations,
    ['an assertion instead', { type: 'webauthn.get' }, 'rejected'],
    ['a statement without attestation', { attStmt: new Map([['sig', Buffer.from('x')]]) }, 'rejected'],
    ['self attestation with a wrong signature', { fmt: 'packed', attStmt: selfAttestation() }, 'rejected'],
  ] as const)('is refused: %s', async (_, deviation, reason) => {
    await expect(enrol(new SoftwareAuthenticator(ORIGIN), alice, deviation)).rejects.toMatchObject(invalid(reason));
  });

  it('a registration with certificates is refused, and no URL in them is fetched', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch');
    const withCertificate = new Map([...selfAttestation(), ['x5c', Buffer.from('3000', 'hex')] as const]);
    for (const deviation of [
      { fmt: 'packed', attStmt: withCertificate },
      { fmt: 'tpm' },
      { fmt: 'apple' },
      { fmt: 'android-key' },
      { fmt: 'fido-u2f' },
    ])
      await expect(enrol(new SoftwareAuthenticator(ORIGIN), alice, deviation)).rejects.toMatchObject(
        invalid('attestation'),
      );
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });

  it('a registration with a different outer credential id is refused', async () => {
    const response = await create(new SoftwareAuthenticator(ORIGIN), alice);
    const renamed = { ...response, id: 'b3RoZXI', rawId: 'b3RoZXI' };
    const verified = passkeys.verifyRegistration({ response: renamed, challenge, subject: alice });
    await expect(verified).rejects.toMatchObject(invalid('credential_id'));
  });
});

describe('an assertion', () => {
  it.each([...deviations, ['a registration instead', { type: 'webauthn.create' }, 'rejected']] as const)(
    'is refused: %s',
    async (_, deviation, reason) => {
      const authenticator = new SoftwareAuthenticator(ORIGIN);
      const known = [await enrol(authenticator, alice)];
      const response = await assertionOf(authenticator, known, deviation);
      await expect(passkeys.verifyAssertion({ response, challenge, passkeys: known })).rejects.toMatchObject(
        invalid(reason),
      );
    },
  );

  it.each(Object.entries(otherChallenges))('an assertion is refused for %s', async (_, other) => {
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const known = [await enrol(authenticator, alice)];
    const response = await assertionOf(authenticator, known);
    expect(await passkeys.verifyAssertion({ response, challenge, passkeys: known })).toBeDefined();
    await expect(passkeys.verifyAssertion({ response, challenge: other, passkeys: known })).rejects.toMatchObject(
      invalid('challenge'),
    );
  });

  it('an assertion by the passkey of another user is unknown', async () => {
    const [hers, his] = [new SoftwareAuthenticator(ORIGIN), new SoftwareAuthenticator(ORIGIN)];
    const known = [await enrol(hers, alice)];
    await enrol(his, bob);
    const response = await assertionOf(his, known);
    await expect(passkeys.verifyAssertion({ response, challenge, passkeys: known })).rejects.toMatchObject({
      name: 'PasskeyError',
      code: 'unknown_passkey',
    });
    await expect(passkeys.verifyAssertion({ response, challenge, passkeys: [] })).rejects.toMatchObject({
      code: 'unknown_passkey',
    });
  });

  it('an assertion by the passkey of another user under her credential id is refused', async () => {
    const [hers, his] = [new SoftwareAuthenticator(ORIGIN), new SoftwareAuthenticator(ORIGIN)];
    const known = [await enrol(hers, alice)];
    await enrol(his, alice);
    const response = { ...(await assertionOf(his, known)), id: hers.credentialId, rawId: hers.credentialId };
    await expect(passkeys.verifyAssertion({ response, challenge, passkeys: known })).rejects.toMatchObject(
      invalid('rejected'),
    );
  });

  it('an assertion with the user handle of another account is refused, and one without a handle is accepted', async () => {
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const known = [await enrol(authenticator, alice)];
    const verify = async (userHandle: string | null) => {
      const response = await assertionOf(authenticator, known, { userHandle });
      return await passkeys.verifyAssertion({ response, challenge, passkeys: known });
    };
    await expect(verify(randomBytes(32).toString('base64url'))).rejects.toMatchObject(invalid('user_handle'));
    expect(await verify(null)).toMatchObject({ passkeyId: authenticator.credentialId });
    expect(await verify('')).toMatchObject({ passkeyId: authenticator.credentialId });
  });

  it('an assertion must have a higher counter than the last one', async () => {
    const authenticator = new SoftwareAuthenticator(ORIGIN, { counts: true });
    const first = await enrol(authenticator, alice);
    const response = await assertionOf(authenticator, [first]);
    const { signCount } = await passkeys.verifyAssertion({ response, challenge, passkeys: [first] });
    expect(signCount).toBe(first.signCount + 1);
    const known = [{ ...first, signCount }];
    await expect(passkeys.verifyAssertion({ response, challenge, passkeys: known })).rejects.toMatchObject(
      invalid('rejected'),
    );
    const none = await assertionOf(authenticator, known, { counter: 0 });
    await expect(passkeys.verifyAssertion({ response: none, challenge, passkeys: known })).rejects.toMatchObject(
      invalid('rejected'),
    );
    const next = await assertionOf(authenticator, known);
    expect(await passkeys.verifyAssertion({ response: next, challenge, passkeys: known })).toMatchObject({
      signCount: signCount + 2,
    });
  });

  it.each(['signature', 'authenticatorData', 'clientDataJSON'] as const)(
    'an assertion with altered %s is refused',
    async part => {
      const authenticator = new SoftwareAuthenticator(ORIGIN);
      const known = [await enrol(authenticator, alice)];
      const { response, ...envelope } = await assertionOf(authenticator, known);
      const bytes = Buffer.from(response[part], 'base64url');
      for (const at of [...bytes.keys()].filter(index => index % 7 === 0)) {
        const altered = Buffer.from(bytes);
        altered[at] = (altered[at] ?? 0) ^ 0x01;
        const forged = { ...envelope, response: { ...response, [part]: altered.toString('base64url') } };
        await expect(passkeys.verifyAssertion({ response: forged, challenge, passkeys: known })).rejects.toMatchObject({
          code: 'invalid',
        });
      }
    },
  );

  it.each([
    ['nothing', undefined],
    ['text', 'response'],
    ['an empty object', {}],
    ['a list', []],
    ['another type', { id: 'aa', rawId: 'aa', type: 'password', response: {} }],
    ['not base64url', { id: 'a+/=', rawId: 'a+/=', type: 'public-key', response: {} }],
    [
      'client data that is not JSON',
      {
        id: 'aa',
        rawId: 'aa',
        type: 'public-key',
        response: { clientDataJSON: 'AAAA', authenticatorData: 'AAAA', signature: 'AAAA', attestationObject: 'AAAA' },
      },
    ],
  ])('an assertion and a registration are malformed: %s', async (_, response) => {
    await expect(passkeys.verifyAssertion({ response, challenge, passkeys: [] })).rejects.toMatchObject(
      invalid('malformed'),
    );
    await expect(passkeys.verifyRegistration({ response, challenge, subject: alice })).rejects.toMatchObject(
      invalid('malformed'),
    );
  });

  it('an assertion is refused without quoting the response', async () => {
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const known = [await enrol(authenticator, alice)];
    for (const deviation of [{ rpId: 'canary' }, { type: 'canary' }, { origin: 'https://canary.example' }]) {
      const response = await assertionOf(authenticator, known, deviation);
      const error: unknown = await passkeys
        .verifyAssertion({ response, challenge, passkeys: known })
        .catch((reason: unknown) => reason);
      expect(inspect(error, { depth: 10 })).not.toContain('canary');
    }
  });
});

describe('passkeyChallenge', () => {
  it('contains the nonce, the digest and the elicitation, in this order', () => {
    expect(Buffer.from(challenge.subarray(0, 16))).toEqual(Buffer.from(terms.nonce));
    expect(Buffer.from(challenge.subarray(16, 48)).toString('base64url')).toBe(terms.digest);
    expect(challenge.byteLength).toBe(80);
    expect(passkeyChallenge(terms)).toEqual(challenge);
    for (const other of Object.values(otherChallenges)) expect(other).not.toEqual(challenge);
  });

  it.each([
    ['a short nonce', { nonce: randomBytes(15) }],
    ['a long nonce', { nonce: randomBytes(33) }],
    ['no digest', { digest: '' }],
    ['a short digest', { digest: randomBytes(31).toString('base64url') }],
    ['a second spelling of a digest', { digest: `${'A'.repeat(42)}B` }],
    ['a digest in hex', { digest: randomBytes(32).toString('hex') }],
  ])('refuses %s', (_, change) => {
    expect(() => passkeyChallenge({ ...terms, ...change })).toThrow(RangeError);
  });
});

it.each([
  ['https://postern.example.com', 'postern.example.com'],
  ['https://postern.example.com:8443/base', 'postern.example.com'],
  ['http://localhost:8080', 'localhost'],
  ['http://127.0.0.1:8080', undefined],
  ['http://[::1]:8080', undefined],
])('passkeys of %s belong to %s', (publicUrl, rpId) => {
  expect(passkeyRpIdOf(publicUrl)).toBe(rpId);
});

function selfAttestation(): Map<string, number | Uint8Array> {
  return new Map<string, number | Uint8Array>([
    ['alg', -7],
    ['sig', new Uint8Array(70)],
  ]);
}
