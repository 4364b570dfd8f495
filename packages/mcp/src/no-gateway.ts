import { randomBytes } from 'node:crypto';
import { PosternUsageError } from './errors.ts';
import type { GateCheck } from './gate-check.ts';
import type { GatewayClient } from './gateway-client.ts';
import { NO_GATEWAY_ADVICE } from './local-gateway.ts';
import type { StateKey } from './request-state.ts';
import type { Principal } from './subject.ts';

const MESSAGE = `This needs a gateway: ${NO_GATEWAY_ADVICE} Only forms that the MCP client shows itself work without one.`;

const missing = () => new PosternUsageError('no_gateway', MESSAGE);
const refuse = () => Promise.reject(missing());

const client: GatewayClient = {
  ...{ issue: refuse, read: refuse, cancel: refuse, redeem: refuse, refund: refuse },
  ...{ accessToken: refuse, connections: refuse },
  ...{ credentials: refuse, readCredential: refuse, removeCredential: refuse },
};

const gateCheck: GateCheck = {
  run: async () => ({ faults: [{ code: 'no_gateway', message: MESSAGE }], caller: undefined }),
  // Nothing is wrong before something needs the gateway.
  begin() {},
  expect() {
    throw missing();
  },
  close() {},
};

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
export const anyone: Principal = {
  ...{ issuer: 'urn:postern:no-gateway', subject: 'anyone' },
  input: { issuer: 'urn:postern:no-gateway', subject: 'anyone' },
};
