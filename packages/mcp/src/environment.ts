import { setTimeout as delay } from 'node:timers/promises';
import type { JWK } from 'jose';
import { RecentCalls } from './ask-log.ts';
import { CompletionWaiters } from './completion-waiters.ts';
import { invalidOptions as invalid } from './errors.ts';
import { createGateCheck, type GateCheck } from './gate-check.ts';
import { apiKeyAuthorizer, privateKeyAuthorizer } from './gateway-auth.ts';
import { createGatewayClient, type GatewayClient } from './gateway-client.ts';
import { GatewayLauncher } from './gateway-launcher.ts';
import { type GatewayRequestOptions, spread } from './gateway-request.ts';
import { createGatewayTransport } from './gateway-transport.ts';
import { completed } from './local-gateway.ts';
import { createReporter, type Reporter } from './mistakes.ts';
import { anyone, me, noGateway } from './no-gateway.ts';
import { type MissingCapability, optionsSchema, type PosternOptions } from './options.ts';
import { parseStrictly } from './parse-strictly.ts';
import { PersonalGateway, personalAdvice } from './personal-gateway.ts';
import { createRequestStateCodec, deriveStateKey, type RequestStateCodec, type StateKey } from './request-state.ts';
import { createSealedOpener, type SealedOpener } from './sealed-delivery.ts';
import { isConfidential } from './secure-url.ts';
import { createSessionReplica, type SessionReplica } from './shared-sessions.ts';
import type { Principal } from './subject.ts';
import { englishTexts, type TextFunction } from './texts.ts';
import type { TraceContext } from './tool-call.ts';
import { WaitingReads } from './waiting-reads.ts';

/** Shared by all calls of one gate. */
export interface Environment extends Reporter {
  /** The user of a call that names none. Undefined: such a call has no user. */
  readonly unnamed: Principal | undefined;
  /** For calls that do not arrive over HTTP, if no gateway is named. */
  readonly personal?: Environment;
  readonly client: GatewayClient;
  readonly gateCheck: GateCheck;
  /** Returns a client that propagates a trace. */
  readonly tracedClient?: ((trace: TraceContext) => GatewayClient) | undefined;
  /** Present if secrets are delivered sealed. */
  readonly sealedOpener: SealedOpener | undefined;
  /** For requests to the APIs of providers. */
  readonly fetch: typeof fetch;
  readonly allowHttp: boolean;
  readonly codec: RequestStateCodec;
  readonly recentCalls: RecentCalls;
  readonly waitingReads: WaitingReads;
  readonly waiters: CompletionWaiters;
  /** Present if MCP sessions move between replicas. */
  readonly sessionReplica: SessionReplica | undefined;
  readonly text: TextFunction;
  readonly holdMs: number;
  readonly maxRounds: number;
  readonly missingCapability: MissingCapability;
  readonly assumeUrlCapability: boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const MAX_RECENT_CALLS = 10_000;
/** Each waiting read keeps a connection to the gateway open. */
const MAX_WAITING_READS = 10_000;

/** @throws {PosternUsageError} `invalid_options` */
export function createEnvironment<Context>(given: PosternOptions<Context>): Environment {
  const parsed = parseStrictly('invalid_options', 'postern', optionsSchema, given);
  const { holdMs, maxRounds, maxWaiters, gatewayTimeoutMs, missingCapability } = parsed;
  const located = completed(given);
  const options = located ?? given;
  const reporter = createReporter(options.onBackgroundError);
  const { onBackgroundError } = reporter;
  const connection = { timeoutMs: gatewayTimeoutMs, onError: onBackgroundError };
  const { sealedOpener, stateKeys, ...parts } = located === undefined ? noGateway : gatewayOf(located, connection);
  const memory = (client: GatewayClient, maxCalls: number) => {
    const waitingReads = new WaitingReads({ limit: MAX_WAITING_READS, sleep, random: spread });
    const waiters = new CompletionWaiters({
      client,
      waitingReads,
      limit: maxWaiters,
      now: Date.now,
      sleep,
      random: spread,
      onError: onBackgroundError,
    });
    return { waitingReads, waiters, recentCalls: new RecentCalls(maxCalls, Date.now) };
  };
  const { waiters, ...own } = memory(parts.client, located === undefined ? 0 : MAX_RECENT_CALLS);
  const environment: Environment = {
    unnamed: located === undefined ? anyone : located.isOfFolder && me,
    ...parts,
    ...own,
    sealedOpener,
    fetch: options.fetch ?? fetch,
    allowHttp: options.allowHttp ?? false,
    codec: createRequestStateCodec(options.stateKeys ?? stateKeys(), Date.now),
    waiters,
    sessionReplica: options.sessions && createSessionReplica(options.sessions, { waiters, delay: sleep }),
    text: options.text ?? englishTexts,
    holdMs,
    maxRounds,
    missingCapability,
    assumeUrlCapability: options.assumeUrlCapability ?? false,
    ...reporter,
    now: Date.now,
  };
  if (located !== undefined || process.env['POSTERN_AUTOSTART'] === 'off') return environment;
  const { client, tracedClient, gateCheck } = new PersonalGateway({
    launcher: new GatewayLauncher({ onError: onBackgroundError }),
    // No repeats: another program may have the port since. Joining again proves first that it is the gateway.
    connect: joined => gatewayOf({ ...given, ...joined }, { ...connection, maxAttempts: 1, advice: personalAdvice }),
  });
  const personal = { client, tracedClient, gateCheck, ...memory(client, MAX_RECENT_CALLS), unnamed: me };
  return { ...environment, personal: { ...environment, ...personal } };
}

const sleep = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal, ref: false });

function gatewayOf<Context>(
  options: PosternOptions<Context> & { readonly url: string },
  p: Pick<GatewayRequestOptions, 'advice' | 'maxAttempts'> & {
    readonly timeoutMs: number;
    readonly onError: (error: Error) => void;
  },
) {
  const url = gatewayUrl(options);
  const transport = createGatewayTransport(url, options.fetch);
  const { timeoutMs, maxAttempts, onError, advice = adviceFor(url) } = p;
  const clientOptions = { transport, authorize: authorizer(options, url), timeoutMs, maxAttempts, advice };
  const decryptionKeys = decryptionKeysOf(options);
  return {
    client: createGatewayClient(clientOptions),
    tracedClient: (trace: TraceContext) => createGatewayClient({ ...clientOptions, trace }),
    gateCheck: createGateCheck({
      ...clientOptions,
      url,
      decryptionKeys,
      sleep,
      now: Date.now,
      onError,
      issuer: typeof options.subject === 'object' ? options.subject.issuer : undefined,
    }),
    sealedOpener: sealedOpener(options),
    stateKeys: () => derivedKeys(options),
  };
}

function gatewayUrl<Context>(options: PosternOptions<Context> & { readonly url: string }): string {
  const url = URL.parse(options.url);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw invalid('url (or POSTERN_URL): an http(s) URL without user, query and fragment is needed.');
  }
  if (!isConfidential(url, options.allowHttp ?? false)) {
    throw invalid('url: plain http would send the credential in the clear; use https, or set allowHttp.');
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}

/** The gateway does not know an address below its API. */
function adviceFor(url: string): GatewayRequestOptions['advice'] {
  if (!url.endsWith('/v1')) return undefined;
  const advice = 'Set the option url (or POSTERN_URL) to the public URL of the gateway, without /v1.';
  return { not_found: advice, method_not_allowed: advice };
}

function authorizer<Context>(options: PosternOptions<Context>, url: string) {
  if (options.apiKey !== undefined && options.auth !== undefined) throw invalid('apiKey and auth exclude each other.');
  if (options.auth !== undefined) return privateKeyAuthorizer(options.auth, url, Date.now);
  return apiKeyAuthorizer(apiKeyOf(options));
}

function decryptionKeysOf<Context>({ decryptionKey = [] }: PosternOptions<Context>): readonly JWK[] {
  return isList(decryptionKey) ? decryptionKey : [decryptionKey];
}

function sealedOpener<Context>(options: PosternOptions<Context>): SealedOpener | undefined {
  if (options.decryptionKey === undefined) return undefined;
  return createSealedOpener(decryptionKeysOf(options), options.auth?.mcpServerId);
}

/** Unlike `Array.isArray`, narrows readonly arrays. */
function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}

function derivedKeys<Context>(options: PosternOptions<Context>): readonly StateKey[] {
  if (options.auth !== undefined) throw invalid('stateKeys: needed with auth, the same on every replica.');
  return [deriveStateKey(apiKeyOf(options))];
}

const RULE = 'the key that the gateway printed is needed, 16 to 512 characters of a bearer token';

function apiKeyOf<Context>({ apiKey = '' }: PosternOptions<Context>): string {
  // RFC 6750 section 2.1; also excludes line breaks, which would fail in a header with an error that quotes the key.
  if (!/^[\w.~+/-]{16,512}=*$/.test(apiKey)) {
    const fault = /\s/.test(apiKey)
      ? 'it contains white space, such as the line break at the end of a file; trim it'
      : RULE;
    throw invalid(`apiKey (or POSTERN_API_KEY): ${fault}.`);
  }
  return apiKey;
}
