import type { JWK } from 'jose';
import { z } from 'zod/v4';
import type { PrivateKeyAuth } from './gateway-auth.ts';
import type { SharedSessions } from './legacy-session.ts';
import { callable } from './parse-strictly.ts';
import type { StateKey } from './request-state.ts';
import type { SubjectOption } from './subject.ts';
import type { TextFunction } from './texts.ts';

/** The response to an MCP client that cannot open links: a result with the link, or a refusal. */
export type MissingCapability = z.infer<typeof missingCapabilitySchema>;
export const missingCapabilitySchema = z.enum(['plain', 'error']);

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
export const optionsSchema = z.strictObject({
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
  allowHttp: z.boolean().optional(),
  check: z.literal(false).optional(),
  onBackgroundError: callable.optional(),
  decryptionKey: z.union([z.looseObject({ kty: text }), z.array(z.looseObject({ kty: text }))]).optional(),
  fetch: callable.optional(),
});
