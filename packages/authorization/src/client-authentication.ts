import { createPrivateKey } from 'node:crypto';
import * as client from 'openid-client';
import { clientAuthenticationOf } from './client-authentication-config.ts';
import type { ClientKey, ClientKeyAlgorithm } from './client-key.ts';
import type { ClientRegistration } from './client-registration.ts';

/**
 * How requests of this registration prove that they are ours. Assertions (RFC 7523) live for a minute, have an id of their
 * own, and name the issuer as their only audience, so that one that went to the wrong server is good at no other
 * (draft-ietf-oauth-rfc7523bis section 3). Nothing of it is ever part of a URL.
 */
export function createClientAuthentication(registration: ClientRegistration): client.ClientAuth {
  const { clientSecret, clientKey } = registration;
  switch (clientAuthenticationOf(registration)) {
    case 'client_secret_basic':
      return clientSecretBasic(registration);
    case 'client_secret_post':
      return client.ClientSecretPost(clientSecret);
    case 'client_secret_jwt':
      return client.ClientSecretJwt(clientSecret, { [client.modifyAssertion]: soleAudience });
    case 'private_key_jwt':
      if (clientKey === undefined) throw new TypeError('private_key_jwt needs a key');
      return privateKeyJwt(clientKey);
    case 'none':
      return client.None();
  }
}

/**
 * RFC 6749 section 2.3.1: id and secret are form-encoded before they are joined. Encoded is what a form encodes and no more
 * (the library encodes `-`, `_` and `.` as well), so that ids and secrets as they are usually issued also reach a server that
 * forgets to decode.
 */
export function clientSecretBasic({ clientId, clientSecret }: ClientRegistration): client.ClientAuth {
  if (clientSecret === undefined) throw new TypeError('client_secret_basic needs a secret');
  const credentials = Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64');
  return (_server, _registered, _parameters, headers) => headers.set('authorization', `Basic ${credentials}`);
}

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice('='.length);

function privateKeyJwt({ jwk, algorithm, kid }: ClientKey): client.ClientAuth {
  const key = createPrivateKey({ key: { ...jwk }, format: 'jwk' }).toCryptoKey(importAlgorithms[algorithm], false, [
    'sign',
  ]);
  return client.PrivateKeyJwt(kid === undefined ? { key } : { key, kid }, {
    [client.modifyAssertion](header, payload) {
      header['alg'] = algorithm;
      soleAudience(header, payload);
    },
  });
}

/** The library's audience is the issuer; anything that made it a list would make the assertion good elsewhere. */
function soleAudience(_: unknown, payload: Record<string, unknown>): void {
  if (typeof payload['aud'] !== 'string') throw new TypeError('a client assertion has one audience');
}

const importAlgorithms: Record<ClientKeyAlgorithm, { name: string; namedCurve?: string; hash?: string }> = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  ES384: { name: 'ECDSA', namedCurve: 'P-384' },
  ES512: { name: 'ECDSA', namedCurve: 'P-521' },
  EdDSA: { name: 'Ed25519' },
  Ed25519: { name: 'Ed25519' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
};
