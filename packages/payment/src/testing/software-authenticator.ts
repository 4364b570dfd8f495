/**
 * An authenticator and a browser for tests: returns the JSON of `PublicKeyCredential.toJSON()`. Tests can also make it deviate from
 * WebAuthn.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { z } from 'zod';

/** WebAuthn section 6.1. */
const PRESENT = 0x01;
const VERIFIED = 0x04;
const BACKUP_ELIGIBLE = 0x08;
const BACKED_UP = 0x10;
const ATTESTED = 0x40;

type Algorithm = 'ES256' | 'EdDSA' | 'RS256';

/** Deviations of a ceremony from WebAuthn. */
export interface Deviation {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  readonly present?: boolean;
  readonly verified?: boolean;
  readonly backedUp?: boolean;
  readonly counter?: number;
  readonly userHandle?: string | null;
  readonly aaguid?: string;
  readonly fmt?: string;
  readonly attStmt?: Map<string, string | number | Uint8Array>;
}

/** The part of the page's options that the authenticator reads. */
const creationSchema = z.object({
  challenge: z.string(),
  rp: z.object({ id: z.string() }),
  user: z.object({ id: z.string() }),
});
const requestSchema = z.object({ challenge: z.string(), rpId: z.string() });

export class SoftwareAuthenticator {
  readonly credentialId = randomBytes(32).toString('base64url');
  readonly #origin: string;
  readonly #algorithm: Algorithm;
  readonly #keys: { publicKey: KeyObject; privateKey: KeyObject };
  #userHandle = '';
  /** Whether the signature counter grows. Authenticators without a counter send 0. */
  #counter: number;

  constructor(origin: string, options: { algorithm?: Algorithm; counts?: boolean } = {}) {
    this.#origin = origin;
    this.#algorithm = options.algorithm ?? 'ES256';
    this.#keys = newKeys(this.#algorithm);
    this.#counter = options.counts === true ? 1 : 0;
  }

  /** `navigator.credentials.create` */
  create(optionsJson: unknown, deviation: Deviation = {}) {
    const options = creationSchema.parse(optionsJson);
    this.#userHandle = options.user.id;
    const id = Buffer.from(this.credentialId, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const aaguid = Buffer.from((deviation.aaguid ?? '00000000-0000-0000-0000-000000000000').replaceAll('-', ''), 'hex');
    const attested = Buffer.concat([
      aaguid,
      length,
      id,
      isoCBOR.encode(coseKey(this.#algorithm, this.#keys.publicKey)),
    ]);
    const authData = Buffer.concat([this.#authenticatorData(options.rp.id, ATTESTED, deviation), attested]);
    const attestation = new Map<string, string | Uint8Array | Map<string, string | number | Uint8Array>>([
      ['fmt', deviation.fmt ?? 'none'],
      ['attStmt', deviation.attStmt ?? new Map()],
      ['authData', new Uint8Array(authData)],
    ]);
    return {
      ...this.#envelope(),
      response: {
        clientDataJSON: this.#clientData('webauthn.create', options.challenge, deviation),
        attestationObject: Buffer.from(isoCBOR.encode(attestation)).toString('base64url'),
        transports: ['internal', 'hybrid'],
      },
    };
  }

  /** `navigator.credentials.get` */
  get(optionsJson: unknown, deviation: Deviation = {}) {
    const options = requestSchema.parse(optionsJson);
    if (this.#counter > 0) this.#counter += 1;
    const authenticatorData = this.#authenticatorData(options.rpId, 0, deviation);
    const clientDataJSON = this.#clientData('webauthn.get', options.challenge, deviation);
    const clientDataHash = createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest();
    const digest = this.#algorithm === 'EdDSA' ? null : 'sha256';
    const signature = sign(digest, Buffer.concat([authenticatorData, clientDataHash]), this.#keys.privateKey);
    return {
      ...this.#envelope(),
      response: {
        clientDataJSON,
        authenticatorData: authenticatorData.toString('base64url'),
        signature: signature.toString('base64url'),
        userHandle: deviation.userHandle === undefined ? this.#userHandle : deviation.userHandle,
      },
    };
  }

  #envelope() {
    const { credentialId } = this;
    return { id: credentialId, rawId: credentialId, type: 'public-key', clientExtensionResults: {} };
  }

  #authenticatorData(rpId: string, more: number, { present, verified, backedUp, ...deviation }: Deviation): Buffer {
    const flags =
      (present === false ? 0 : PRESENT) |
      (verified === false ? 0 : VERIFIED) |
      (backedUp === true ? BACKUP_ELIGIBLE | BACKED_UP : 0) |
      more;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(deviation.counter ?? this.#counter);
    const rpIdHash = createHash('sha256')
      .update(deviation.rpId ?? rpId)
      .digest();
    return Buffer.concat([rpIdHash, Buffer.of(flags), counter]);
  }

  #clientData(type: string, challenge: string, deviation: Deviation): string {
    const clientData = {
      type: deviation.type ?? type,
      challenge: deviation.challenge ?? challenge,
      origin: deviation.origin ?? this.#origin,
      crossOrigin: deviation.crossOrigin ?? false,
    };
    return Buffer.from(JSON.stringify(clientData)).toString('base64url');
  }
}

function newKeys(algorithm: Algorithm) {
  switch (algorithm) {
    case 'ES256':
      return generateKeyPairSync('ec', { namedCurve: 'P-256' });
    case 'EdDSA':
      return generateKeyPairSync('ed25519');
    case 'RS256':
      return generateKeyPairSync('rsa', { modulusLength: 2048 });
  }
}

/** RFC 9053 sections 7.1 and 7.2, RFC 8230 section 4. */
function coseKey(algorithm: Algorithm, publicKey: KeyObject): Map<number, number | Uint8Array> {
  const jwk = publicKey.export({ format: 'jwk' });
  const bytes = (text: string | undefined) => new Uint8Array(Buffer.from(text ?? '', 'base64url'));
  switch (algorithm) {
    case 'ES256':
      return new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(jwk.x)],
        [-3, bytes(jwk.y)],
      ]);
    case 'EdDSA':
      return new Map<number, number | Uint8Array>([
        [1, 1],
        [3, -8],
        [-1, 6],
        [-2, bytes(jwk.x)],
      ]);
    case 'RS256':
      return new Map<number, number | Uint8Array>([
        [1, 3],
        [3, -257],
        [-1, bytes(jwk.n)],
        [-2, bytes(jwk.e)],
      ]);
  }
}
