import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { PERSON, serverNameSchema } from '@postern/api/local';
import type { JWK } from 'jose';
import { z } from 'zod/v4';
import { CompletionWaiters, createSessionReplica } from '../eras/completion-notices.ts';
import { callable, invalidOptions as invalid, parseStrictly } from '../errors.ts';
import {
  apiKeyAuthorizer,
  createGatewayClient,
  createGatewayTransport,
  type GatewayClient,
  type GatewayRequestOptions,
  type PrivateKeyAuth,
  privateKeyAuthorizer,
  spread,
  type TraceContext,
} from '../gateway/client.ts';
import { createGateCheck } from '../gateway/gate-check.ts';
import { completed, noGateway } from '../gateway/local-gateway.ts';
import { GatewayLauncher, PersonalGateway, personalAdvice } from '../gateway/personal-gateway.ts';
import { createSealedOpener, type SealedOpener } from '../gateway/sealed-delivery.ts';
import { WaitingReads } from '../gateway/waiting-reads.ts';
import { createReporter } from '../mistakes.ts';
import { RecentCalls } from '../run/ask-log.ts';
import { createRequestStateCodec, deriveStateKey, type StateKey } from '../run/request-state.ts';
import { type Environment, type MissingCapability, missingCapabilitySchema } from '../run/run.ts';
import type { Principal, SharedSessions, SubjectOption } from '../run/tool-call.ts';
import { isConfidential } from '../safe-http.ts';
import { englishTexts, type TextFunction } from '../texts.ts';

export interface PosternOptions<Context> {
  /**
   * The gateway's API, for example `https://postern.example.com`. `http` only on loopback, or with `allowHttp`. Default: `POSTERN_URL`.
   * Without URL and key, also not in the environment, both come from the `.postern` folder of `npx @postern/gateway dev`: the nearest
   * one from the working directory upwards.
   */
  readonly url?: string;
  /** This MCP server's API key. Either this or `auth`. Default: `POSTERN_API_KEY`. */
  readonly apiKey?: string;
  /** A private key instead of an API key. Requires `stateKeys`. */
  readonly auth?: PrivateKeyAuth;
  /** The source of a call's user. Default: `iss` and `sub` of `authInfo.extra`. */
  readonly subject?: SubjectOption<Context>;
  /** Keys that seal `requestState`, the current one first. Default: one derived from the API key. */
  readonly stateKeys?: readonly StateKey[];
  /** Milliseconds that one request waits for the user, rounded down to seconds. 0 never waits. Default 45,000. */
  readonly holdMs?: number;
  /** `input_required` answers per call before it ends with a plain result. Default 8 (the SDK's client allows 10). */
  readonly maxRounds?: number;
  /** The response to an MCP client without URL mode: a result with the link (default), or a refusal (−32021). */
  readonly missingCapability?: MissingCapability;
  /** Vouch that every MCP client of a stateless 2025-11-25 endpoint declares `elicitation.url`. Default false. */
  readonly assumeUrlCapability?: boolean;
  /** Writes the texts for users. Default: English. */
  readonly text?: TextFunction;
  /** Maximum number of completion notices that one process waits for. Default 10,000. */
  readonly maxWaiters?: number;
  /** Timeout of one request to the gateway in milliseconds, plus the wait of a waiting read. Default 10,000. */
  readonly gatewayTimeoutMs?: number;
  /**
   * Set it if MCP sessions of revision 2025-11-25 move between replicas of this MCP server, so that a call may arrive at a replica
   * that does not hold the session's stream. See also `resume()`. Default: each replica serves the sessions that it opened.
   */
  readonly sessions?: SharedSessions;
  /** Name under which a personal gateway shows this MCP server. Default: that of the package of the running program. */
  readonly serverName?: string;
  /** Allow plain HTTP to hosts other than loopback, such as a container network: gateway and APIs. Default false. */
  readonly allowHttp?: boolean;
  /**
   * `postern()` asks the gateway once in the background whether later calls can succeed, and reports faults to `onBackgroundError`:
   * a wrong URL or credential, a gateway older than this package, a wrong clock, a provider of `accounts` that the gateway would refuse.
   * `false` turns it off. See also `check()` of the gate.
   */
  readonly check?: false;
  /**
   * Failures outside any request, such as a completion notice that could not be sent; and a `ProgrammingError` for each mistake in the code
   * of the MCP server, once per kind and minute. Default: `console.error`.
   */
  readonly onBackgroundError?: (error: Error) => void;
  /**
   * Private JWK of the encryption key that is registered for this MCP server. Access tokens and user input then travel sealed (JWE), so
   * that no proxy between gateway and MCP server sees them. Pass several keys while the key is being replaced.
   */
  readonly decryptionKey?: JWK | readonly JWK[];
  /**
   * Replaces `node:http` for calls to the gateway, and the global `fetch` for calls to providers. For tests, and for proxies
   * through an undici dispatcher (`setGlobalDispatcher`). A proxy that `NODE_USE_ENV_PROXY` configures works without it.
   */
  readonly fetch?: typeof fetch;
}

const text = z.string();

/** A PEM text, a JWK or a `CryptoKey`; its import checks the rest. */
const isKey = (value: unknown): boolean => typeof value === 'string' || (typeof value === 'object' && value !== null);

/** Member by member what {@link PosternOptions} declares. The functions that use the members check the rest. */
const optionsSchema = z.strictObject({
  url: text.optional(),
  apiKey: text.optional(),
  auth: z
    .strictObject({
      privateKey: z.custom(isKey, 'Must be a key'),
      kid: text,
      mcpServerId: text,
      algorithm: text.optional(),
      audience: text.optional(),
    })
    .optional(),
  subject: z.union([z.literal('access-token'), z.strictObject({ issuer: text, subject: text }), callable]).optional(),
  stateKeys: z.array(z.strictObject({ kid: text, key: z.instanceof(Uint8Array) })).optional(),
  holdMs: z.int().min(0).max(300_000).default(45_000),
  maxRounds: z.int().min(1).max(100).default(8),
  missingCapability: missingCapabilitySchema.default('plain'),
  assumeUrlCapability: z.boolean().optional(),
  text: callable.optional(),
  maxWaiters: z.int().min(0).default(10_000),
  gatewayTimeoutMs: z.int().min(1).default(10_000),
  sessions: z.looseObject({ add: callable, list: callable, subscribe: callable }).optional(),
  serverName: serverNameSchema.optional(),
  allowHttp: z.boolean().optional(),
  check: z.literal(false).optional(),
  onBackgroundError: callable.optional(),
  decryptionKey: z.union([z.looseObject({ kty: text }), z.array(z.looseObject({ kty: text }))]).optional(),
  fetch: callable.optional(),
});

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
  const { sealedOpener, stateKeys, ...parts } =
    located === undefined ? { ...noGateway, stateKeys: processKeys } : gatewayOf(located, connection);
  const memory = (client: GatewayClient, maxCalls: number) => {
    const waitingReads = new WaitingReads({ limit: MAX_WAITING_READS, sleep, random: spread });
    const completionNotices = new CompletionWaiters({
      client,
      waitingReads,
      limit: maxWaiters,
      now: Date.now,
      sleep,
      random: spread,
      onError: onBackgroundError,
    });
    return { waitingReads, completionNotices, recentCalls: new RecentCalls(maxCalls, Date.now) };
  };
  const { completionNotices, ...own } = memory(parts.client, located === undefined ? 0 : MAX_RECENT_CALLS);
  const environment: Environment = {
    defaultPrincipal: located === undefined ? anyone : located.isOfFolder && me,
    ...parts,
    ...own,
    sealedOpener,
    fetch: options.fetch ?? fetch,
    allowHttp: options.allowHttp ?? false,
    codec: createRequestStateCodec(options.stateKeys ?? stateKeys(), Date.now),
    completionNotices,
    sessionReplica: options.sessions && createSessionReplica(options.sessions, { completionNotices, delay: sleep }),
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
    launcher: new GatewayLauncher({ onError: onBackgroundError, serverName: given.serverName }),
    // No repeats: another program may have the port since. Joining again proves first that it is the gateway.
    connect: joined => gatewayOf({ ...given, ...joined }, { ...connection, maxAttempts: 1, advice: personalAdvice }),
  });
  const personal = { client, tracedClient, gateCheck, ...memory(client, MAX_RECENT_CALLS), defaultPrincipal: me };
  return { ...environment, personal: { ...environment, ...personal } };
}

const sleep = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal, ref: false });

/** How the calls of one gateway behave. */
interface Connection {
  readonly timeoutMs: number;
  readonly onError: (error: Error) => void;
  readonly maxAttempts?: number;
  readonly advice?: GatewayRequestOptions['advice'];
}

function gatewayOf<Context>(
  options: PosternOptions<Context> & { readonly url: string },
  { timeoutMs, maxAttempts, onError, advice }: Connection,
) {
  const url = gatewayUrl(options);
  const transport = createGatewayTransport(url, authorizer(options, url), options.fetch);
  const clientOptions = { transport, timeoutMs, maxAttempts, advice: advice ?? adviceFor(url) };
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

/** Without a gateway, a form is answered within one process: there is no key that several would share. */
const processKeys = (): readonly StateKey[] => [{ kid: 'process', key: Uint8Array.from(randomBytes(32)) }];

const principal = (issuer: string, subject: string): Principal => ({ issuer, subject, input: { issuer, subject } });

/** The user of a call that names none. Without a gateway nothing is kept, so there is nothing that could be another user's. */
const anyone = principal('urn:postern:no-gateway', 'anyone');

/** The one user of a personal gateway. */
const me = principal(PERSON.issuer, PERSON.subject);
