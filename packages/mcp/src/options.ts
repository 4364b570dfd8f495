import { setTimeout as delay } from 'node:timers/promises';
import type { JWK } from 'jose';
import { z } from 'zod';
import { EventBus } from './bus/event-bus.ts';
import { openEvents } from './bus/open-events.ts';
import { CompletionWaiters } from './completion-waiters.ts';
import { PosternUsageError } from './errors.ts';
import { apiKeyAuthorizer, type PrivateKeyAuth, privateKeyAuthorizer } from './gateway-auth.ts';
import { createGatewayClient, spread } from './gateway-client.ts';
import { createGatewayTransport } from './gateway-transport.ts';
import { RecentCalls } from './recent-calls.ts';
import { createRequestStateCodec, deriveStateKey, type StateKey } from './request-state.ts';
import type { Environment } from './run.ts';
import { createSealedOpener, type SealedOpener } from './sealed-delivery.ts';
import { isConfidential } from './secure-url.ts';
import { createSessionReplica, type SharedSessions } from './shared-sessions.ts';
import type { SubjectOption } from './subject.ts';
import { englishTexts, type TextFunction } from './texts.ts';

export interface PosternOptions<Context> {
  /** The gateway's API, for example `https://postern.example.com`. `http` only on loopback, or with `allowHttp`. */
  readonly url: string;
  /** This MCP server's API key. Either this or `auth`. */
  readonly apiKey?: string;
  /** A private key instead of an API key; then `stateKeys` is needed too. */
  readonly auth?: PrivateKeyAuth;
  /** Who the user of a call is. Default: `iss` and `sub` of `authInfo.extra`. */
  readonly subject?: SubjectOption<Context>;
  /** Keys that seal `requestState`, the current one first. Default: one derived from the API key. */
  readonly stateKeys?: readonly StateKey[];
  /** Milliseconds that one request waits for the user. 0 never waits. Default 45,000. */
  readonly holdMs?: number;
  /** `input_required` answers per call before it ends with a plain result. Default 8 (the SDK's client allows 10). */
  readonly maxRounds?: number;
  /** How a 2025-11-25 session is asked. Default `url-required-error` (−32042). */
  readonly legacy?: 'url-required-error' | 'push';
  /** What an MCP client without URL mode gets: a result with the link (default), or a refusal (−32021). */
  readonly missingCapability?: 'plain' | 'error';
  /** Vouch that every MCP client of a stateless 2025-11-25 endpoint declares `elicitation.url`. Default false. */
  readonly assumeUrlCapability?: boolean;
  /** Writes what users read. Default: English. */
  readonly text?: TextFunction;
  /** Completion notices that one process waits for. Default 10,000. */
  readonly maxWaiters?: number;
  /** Milliseconds for one answer of the gateway, waiting not counted. Default 10,000. */
  readonly timeoutMs?: number;
  /**
   * How the end of an elicitation is learnt: by one stream of the gateway's events for the whole process, and by waiting reads
   * where that cannot be had (`auto`, the default), or by waiting reads alone, one connection each (`off`).
   */
  readonly events?: 'auto' | 'off';
  /**
   * Where MCP sessions of revision 2025-11-25 move between the replicas of this MCP server, so that a call may arrive at another one
   * than holds the session's stream. See also `resume()`. Default: each replica serves the sessions that it opened.
   */
  readonly sessions?: SharedSessions;
  /** Allow plain HTTP to hosts other than loopback, such as a container network: gateway and APIs. Default false. */
  readonly allowHttp?: boolean;
  /** Failures outside any request, such as a completion notice that could not be sent. Default: a process warning. */
  readonly onBackgroundError?: (error: Error) => void;
  /**
   * The private key (JWK) to the encryption key registered for this MCP server. With it access tokens and
   * what users typed travel sealed (JWE), so that a proxy between gateway and MCP server never sees any. Several while the key is being replaced: each may open.
   */
  readonly decryptionKey?: JWK | readonly JWK[];
  /**
   * Takes the place of `node:http` for calls of the gateway, and of the global `fetch` for those of providers: for tests, and where
   * a dispatcher of undici leads through a proxy.
   */
  readonly fetch?: typeof fetch;
}

const MAX_RECENT_CALLS = 10_000;

const numbersSchema = z.object({
  holdMs: z.int().min(0).max(300_000).default(45_000),
  maxRounds: z.int().min(1).max(100).default(8),
  maxWaiters: z.int().min(0).default(10_000),
  timeoutMs: z.int().min(1).default(10_000),
});

/** @throws {PosternUsageError} `invalid_options` */
export function createEnvironment<Context>(options: PosternOptions<Context>): Environment {
  const numbers = numbersSchema.safeParse(options);
  if (!numbers.success) throw invalid(z.prettifyError(numbers.error));
  const { holdMs, maxRounds, maxWaiters, timeoutMs } = numbers.data;
  const url = gatewayUrl(options);
  const transport = createGatewayTransport(url, options.fetch);
  const authorize = authorizer(options, url);
  const clientOptions = { url, authorize, timeoutMs, transport };
  const client = createGatewayClient(clientOptions);
  const onBackgroundError = options.onBackgroundError ?? warn;
  const bus =
    options.events === 'off'
      ? undefined
      : new EventBus({ open: openEvents(transport, authorize), onError: onBackgroundError, random: spread });
  const sleep = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal, ref: false });
  const waiters = new CompletionWaiters({
    ...{ client, bus, limit: maxWaiters, now: Date.now, sleep, onError: onBackgroundError },
  });
  return {
    client,
    tracedClient: trace => createGatewayClient({ ...clientOptions, trace }),
    sealedOpener: sealedOpener(options),
    fetch: options.fetch ?? fetch,
    allowHttp: options.allowHttp ?? false,
    codec: createRequestStateCodec(stateKeys(options), Date.now),
    recentCalls: new RecentCalls(MAX_RECENT_CALLS, Date.now),
    bus,
    waiters,
    sessionReplica: options.sessions && createSessionReplica(options.sessions, { waiters, delay: sleep }),
    text: options.text ?? englishTexts,
    holdMs,
    maxRounds,
    legacy: options.legacy ?? 'url-required-error',
    missingCapability: options.missingCapability ?? 'plain',
    assumeUrlCapability: options.assumeUrlCapability ?? false,
    onBackgroundError,
    now: Date.now,
  };
}

function gatewayUrl<Context>(options: PosternOptions<Context>): string {
  const url = URL.parse(options.url);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw invalid('url: an http(s) URL without user, query and fragment is needed.');
  }
  if (!isConfidential(url, options.allowHttp ?? false)) {
    throw invalid('url: plain http would send the credential in the clear; use https, or set allowHttp.');
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
}

function authorizer<Context>(options: PosternOptions<Context>, url: string) {
  if (options.apiKey !== undefined && options.auth !== undefined) throw invalid('apiKey and auth exclude each other.');
  if (options.auth !== undefined) return privateKeyAuthorizer(options.auth, url, Date.now);
  return apiKeyAuthorizer(apiKeyOf(options));
}

function sealedOpener<Context>({ decryptionKey, auth }: PosternOptions<Context>): SealedOpener | undefined {
  if (decryptionKey === undefined) return undefined;
  return createSealedOpener(isList(decryptionKey) ? decryptionKey : [decryptionKey], auth?.mcpServerId);
}

/** Unlike `Array.isArray`, knows lists that are only to be read. */
function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}

function stateKeys<Context>(options: PosternOptions<Context>): readonly StateKey[] {
  if (options.stateKeys !== undefined) return options.stateKeys;
  if (options.auth !== undefined) throw invalid('stateKeys: needed with auth, the same on every replica.');
  return [deriveStateKey(apiKeyOf(options))];
}

function apiKeyOf<Context>(options: PosternOptions<Context>): string {
  // RFC 6750 section 2.1; also keeps a line break out of a header, whose error would quote the key.
  if (options.apiKey === undefined || !/^[\w.~+/-]{16,512}=*$/.test(options.apiKey)) {
    throw invalid('apiKey: 16 to 512 characters of a bearer token are needed.');
  }
  return options.apiKey;
}

function invalid(text: string): PosternUsageError {
  return new PosternUsageError('invalid_options', text);
}

function warn(error: Error): void {
  process.emitWarning(`${error.name}: ${error.message}`, { type: 'PosternWarning' });
}
