import { randomBytes } from 'node:crypto';
import { PERSON } from '@postern/api/local';
import { PosternUsageError } from './errors.ts';
import type { GateCheck } from './gate-check.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { StateKey } from './request-state.ts';
import type { Principal } from './subject.ts';

const MESSAGE =
  'This needs a gateway: set url and apiKey, or POSTERN_URL and POSTERN_API_KEY, or start `npx @postern/gateway dev` in this folder. ' +
  'A stdio server starts one itself with the package @postern/gateway beside it (npm install @postern/gateway). ' +
  'Only forms that the MCP client shows itself work without one.';

/** @param text why, if it is not that there is none */
export const missingGateway = (text = MESSAGE): PosternUsageError => new PosternUsageError('no_gateway', text);
const refuse = () => Promise.reject(missingGateway());

const client: GatewayClient = {
  issue: refuse,
  read: refuse,
  cancel: refuse,
  redeem: refuse,
  refund: refuse,
  accessToken: refuse,
  connections: refuse,
  credentials: refuse,
  readCredential: refuse,
  removeCredential: refuse,
};

const gateCheck: GateCheck = {
  run: async () => ({ faults: [{ code: 'no_gateway', message: MESSAGE }], caller: undefined }),
  // Nothing is wrong before something needs the gateway.
  begin() {},
  expect() {
    throw missingGateway();
  },
  close() {},
};

const principal = (issuer: string, subject: string): Principal => ({ issuer, subject, input: { issuer, subject } });

/** Stands in for the gateway where there is none. Everything but a form of the MCP client fails with an error that says so. */
export const noGateway = {
  client,
  gateCheck,
  tracedClient: undefined,
  sealedOpener: undefined,
  /** A form is answered within one process: there is no key that several would share. */
  stateKeys: (): readonly StateKey[] => [{ kid: 'process', key: Uint8Array.from(randomBytes(32)) }],
};

/** The user of a call that names none. Without a gateway nothing is kept, so there is nothing that could be another user's. */
export const anyone = principal('urn:postern:no-gateway', 'anyone');

/** The one user of a personal gateway. */
export const me = principal(PERSON.issuer, PERSON.subject);
