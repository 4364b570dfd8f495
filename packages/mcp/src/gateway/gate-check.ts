import { CONTRACT_REVISION, type ElicitationKind, problemSchema } from '@postern/api';
import { calculateJwkThumbprint, type JWK } from 'jose';
import { z } from 'zod/v4';
import { asError, GatewayError } from '../errors.ts';
import type { GatewayTransport, TransportAnswer } from './client.ts';

export type GateFaultCode =
  | 'no_gateway'
  | 'unreachable'
  | 'timeout'
  | 'unavailable'
  | 'not_a_gateway'
  | 'unauthenticated'
  | 'gateway_outdated'
  | 'clock_skew'
  | 'kind_not_allowed'
  | 'provider_not_allowed'
  | 'issuer_not_allowed'
  | 'issuer_unavailable'
  | 'encryption_key_mismatch';

/** Something that makes later calls fail. The message names the remedy, and contains no credential. */
export interface GateFault {
  readonly code: GateFaultCode;
  readonly message: string;
}

/** The registration of this MCP server at the gateway, as far as this package uses it. Newer gateways may add values. */
const callerSchema = z.object({
  mcpServerId: z.string(),
  name: z.string(),
  url: z.url(),
  gateway: z.object({ version: z.string(), contract: z.int(), publicUrl: z.string() }),
  kinds: z.array(z.string()),
  providers: z.array(z.object({ name: z.string(), scopes: z.array(z.string()).optional() })),
  issuers: z.array(z.string()),
  audience: z.array(z.string()),
  encryption: z.object({ thumbprint: z.string(), required: z.boolean() }).optional(),
});

export type GateCaller = z.infer<typeof callerSchema>;

export interface GateReport {
  /** Empty if every later call can succeed, as far as the gateway's configuration decides. */
  readonly faults: readonly GateFault[];
  /** Undefined if the gateway did not describe this MCP server. */
  readonly caller: GateCaller | undefined;
}

/** Passed to `onBackgroundError` when the background check of a gate finds faults, or an endpoint cannot verify access tokens. */
export class GateCheckError extends Error {
  override readonly name = 'GateCheckError';
  readonly faults: readonly GateFault[];

  constructor(faults: readonly GateFault[]) {
    super(faults.map(({ message }) => message).join(' '));
    this.faults = faults;
  }
}

export interface GateCheck {
  /** Asks the gateway once. Rejects only with the reason of the signal, and for an invalid `decryptionKey` or `auth`. */
  run(signal?: AbortSignal): Promise<GateReport>;
  /**
   * Checks in the background, and reports faults. Never throws, delays no tool, and keeps no process alive once connected. A gateway
   * that is not reachable yet gets a few attempts, because both may start at the same time.
   */
  begin(): void;
  /** Adds what a handler has declared with `accounts`, or has asked. */
  expect(kind: ElicitationKind, provider?: string): void;
  /** Ends the background check. */
  close(): void;
}

export interface GateCheckOptions {
  readonly url: string;
  readonly transport: GatewayTransport;
  /** Of the one user whom the option `subject` names. */
  readonly issuer: string | undefined;
  readonly decryptionKeys: readonly JWK[];
  readonly timeoutMs: number;
  /** Pause that keeps no process alive; rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

/** Milliseconds. Above it, JWTs of this MCP server and `requestState` may be refused: the gateway tolerates 30 seconds. */
const MAX_SKEW_MS = 30_000;
/** Pauses in milliseconds before the attempts of the background check. The first one lets the code that made the gate go on. */
const PAUSES_MS = [0, 1_000, 5_000];
const TRANSIENT: ReadonlySet<GateFaultCode> = new Set(['unreachable', 'timeout', 'unavailable']);

export function createGateCheck(p: GateCheckOptions): GateCheck {
  const closing = new AbortController();
  const issuers = new Set(p.issuer === undefined ? [] : [p.issuer]);
  const expected: Expected = { kinds: new Set(), providers: new Set(), issuers };

  async function ask(signal: AbortSignal | undefined, isBackground: boolean): Promise<TransportAnswer | GateFault> {
    try {
      const request = { method: 'GET', path: '/v1/me', timeoutMs: p.timeoutMs, signal, isBackground } as const;
      return await p.transport.send(request);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return unansweredFault(error, p.url);
    }
  }

  async function run(signal: AbortSignal | undefined, isBackground: boolean): Promise<GateReport> {
    const askedAt = p.now();
    const answer = await ask(signal, isBackground);
    if ('code' in answer) return { faults: [answer], caller: undefined };
    const skew = skewFault(answer, askedAt, p.now());
    const caller = answer.status === 200 ? callerSchema.safeParse(answer.json).data : undefined;
    if (caller === undefined) {
      const refusal = refusalFault(answer, p.url);
      // A page of another server says nothing about the clock of the gateway.
      return { faults: refusal.code === 'not_a_gateway' ? [refusal] : [refusal, ...skew], caller };
    }
    const faults = [...contractFaults(caller), ...skew, ...expectationFaults(caller, expected)];
    return { faults: [...faults, ...(await encryptionFaults(caller, p.decryptionKeys))], caller };
  }

  async function runInBackground(): Promise<void> {
    let faults: readonly GateFault[] = [];
    for (const pause of PAUSES_MS) {
      await p.sleep(pause, closing.signal);
      ({ faults } = await run(closing.signal, true));
      if (!faults.some(({ code }) => TRANSIENT.has(code))) break;
    }
    if (faults.length > 0) p.onError(new GateCheckError(faults));
  }

  return {
    run: signal => run(signal, false),
    expect(kind, provider) {
      expected.kinds.add(kind);
      if (provider !== undefined) expected.providers.add(provider);
    },
    begin() {
      runInBackground().catch((error: unknown) => {
        if (!closing.signal.aborted) p.onError(asError(error));
      });
    },
    close: () => closing.abort(),
  };
}

const listed = (names: readonly string[]): string => (names.length === 0 ? 'none' : names.join(', '));

function unansweredFault({ code, cause }: GatewayError, url: string): GateFault {
  if (code === 'timeout')
    return { code: 'timeout', message: `The gateway at ${url} did not respond in time. Check the option url.` };
  if (code === 'invalid_response') return notAGateway(url, 'its response is too large');
  const reason = cause instanceof Error ? ` (${cause.message})` : '';
  return { code: 'unreachable', message: `Cannot connect to the gateway at ${url}${reason}. Check the option url.` };
}

const notAGateway = (url: string, because: string): GateFault => ({
  code: 'not_a_gateway',
  message: `No Postern gateway answers at ${url}: ${because}. Check the option url.`,
});

function refusalFault({ status, json }: TransportAnswer, url: string): GateFault {
  const problem = problemSchema.safeParse(json).data;
  if (status >= 300 && status < 400) return notAGateway(url, `HTTP status ${status} redirects to another address`);
  if (problem === undefined) {
    return status === 502 || status === 503 || status === 504
      ? { code: 'unavailable', message: `The gateway at ${url} is not available (HTTP status ${status}).` }
      : notAGateway(url, `HTTP status ${status} without the body of a gateway`);
  }
  switch (problem.code) {
    case 'unauthenticated':
      return {
        code: 'unauthenticated',
        message:
          `The gateway at ${url} does not accept this credential. It is unknown or has expired, or a signed JWT names another ` +
          'audience. Register its hash or key in mcpServers of the gateway.',
      };
    case 'not_found':
    case 'method_not_allowed':
      return faultOfPath(new URL(url)) ?? outdated(`The gateway at ${url}`);
    default:
      return { code: 'unavailable', message: `The gateway at ${url} refused its check (${problem.code}).` };
  }
}

/** A gateway behind a path that it does not know. */
function faultOfPath({ origin, pathname }: URL): GateFault | undefined {
  if (pathname === '/') return undefined;
  const message = `The gateway at ${origin} has no API below ${pathname}. Set the option url to its public URL, without /v1: ${origin}`;
  return { code: 'not_a_gateway', message };
}

const outdated = (gateway: string): GateFault => ({
  code: 'gateway_outdated',
  message: `${gateway} is older than this package, so some calls will fail. Upgrade the gateway.`,
});

function contractFaults({ gateway: { version, contract } }: GateCaller): readonly GateFault[] {
  return contract < CONTRACT_REVISION ? [outdated(`The gateway (version ${version})`)] : [];
}

/** The `Date` of the response (RFC 9110 section 6.6.1, whole seconds) is between request and response, unless a clock is wrong. */
function skewFault({ header }: TransportAnswer, askedAt: number, answeredAt: number): readonly GateFault[] {
  const date = Date.parse(header('date') ?? '');
  if (Number.isNaN(date)) return [];
  const skewMs = date > answeredAt ? date - answeredAt : Math.min(0, date + 1_000 - askedAt);
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return [];
  const [seconds, side] = [Math.round(Math.abs(skewMs) / 1_000), skewMs > 0 ? 'behind' : 'ahead of'];
  const message = `The clock of this machine is ${seconds} seconds ${side} the clock of the gateway. Synchronize both.`;
  return [{ code: 'clock_skew', message }];
}

interface Expected {
  readonly kinds: Set<string>;
  readonly providers: Set<string>;
  readonly issuers: Set<string>;
}

function expectationFaults(caller: GateCaller, { kinds, providers, issuers }: Expected): readonly GateFault[] {
  const notAllowed = (
    code: GateFaultCode,
    what: string,
    wanted: ReadonlySet<string>,
    allowed: readonly string[],
    remedy: string,
  ) =>
    [...wanted]
      .filter(name => !allowed.includes(name))
      .map(name => ({
        code,
        message: `The gateway does not allow "${caller.mcpServerId}" the ${what} "${name}". Allowed: ${listed(allowed)}. Its configuration has them in ${remedy}.`,
      }));
  const offered = caller.providers.map(({ name }) => name);
  return [
    ...notAllowed('kind_not_allowed', 'kind', kinds, caller.kinds, 'mcpServers[].kinds'),
    ...notAllowed('provider_not_allowed', 'provider', providers, offered, 'mcpServers[].providers'),
    ...notAllowed(
      'issuer_not_allowed',
      'issuer of users',
      issuers,
      caller.issuers,
      'mcpServers[].issuers; postern dev takes --issuer',
    ),
  ];
}

async function encryptionFaults({ encryption }: GateCaller, keys: readonly JWK[]): Promise<readonly GateFault[]> {
  const fault = (message: string): readonly GateFault[] => [{ code: 'encryption_key_mismatch', message }];
  if (encryption === undefined)
    return keys.length === 0
      ? []
      : fault('The gateway has no encryption key of this MCP server: register decryptionKey.');
  if (keys.length === 0)
    return encryption.required ? fault('The gateway seals all access tokens: set decryptionKey.') : [];
  const thumbprints = await Promise.all(keys.map(key => calculateJwkThumbprint(key)));
  return thumbprints.includes(encryption.thumbprint)
    ? []
    : fault('The encryption key at the gateway does not belong to decryptionKey.');
}
