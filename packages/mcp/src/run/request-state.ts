import { hkdfSync } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader, errors as joseErrors } from 'jose';
import { z } from 'zod/v4';
import { InvalidRequestStateError, invalidOptions, jsonOf, PosternUsageError } from '../errors.ts';

/** Maximum number of asks per call. Bounds what a call carries between its runs. */
export const MAX_ASKS = 32;

/**
 * Progress of one ask of a call. The records travel from run to run, so that an answered ask stays answered when a later ask
 * suspends the handler again.
 */
export const askRecordSchema = z.strictObject({
  /** Identifies the ask: digest of its terms, and which occurrence of them within the run. */
  key: z.string(),
  /** How many asks of the run came before it. */
  place: z.int().min(0),
  kind: z.string(),
  /** The beginning of its terms, to name what another run asks otherwise. */
  terms: z.record(z.string(), z.string()),
  /** Epoch milliseconds at which this call first asked. 0: its time limit is over, and the next call has one of its own. */
  askedAt: z.int(),
  /** Epoch milliseconds after which the user can no longer answer. */
  expiresAt: z.int(),
  /**
   * `Idempotency-Key` that redeems the result. A retry of this call sends the same key and gets the same result; any other call
   * has a different key and is refused.
   */
  redemption: z.string(),
  /** Absent while the MCP client shows the form itself (form mode). */
  elicitationId: z.string().optional(),
  /** The result was redeemed with `redemption`. */
  isDone: z.literal(true).optional(),
  /** Refusal by the MCP client. */
  refused: z.enum(['decline', 'cancel']).optional(),
  /** Valid content of a form that the MCP client showed. */
  content: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])).optional(),
  /** Number of invalid contents from the MCP client. */
  misfits: z.int().optional(),
  /** The terms name the id or the time of the call, so no other call can have equal ones. */
  namesCall: z.literal(true).optional(),
  /** The call that has asked has had its result since. */
  isLeft: z.literal(true).optional(),
});

export type AskRecord = z.infer<typeof askRecordSchema>;
const askRecordsSchema = z.array(askRecordSchema).max(MAX_ASKS);

/** What every run of a call has in common. */
export const callIdentitySchema = z.strictObject({
  id: z.uuid(),
  /** Epoch milliseconds of its first run. */
  startedAt: z.int(),
  /** The handler has got an answer or a token with which it may have acted, so the call may have been performed in part. */
  mayHaveActed: z.literal(true).optional(),
});

export type CallIdentity = z.infer<typeof callIdentitySchema>;

/** A sealing key of 32 bytes. The first key of a list seals and all keys open, so prepend a new key to rotate. */
export interface StateKey {
  readonly kid: string;
  readonly key: Uint8Array;
}

const TYPE = 'postern-request-state';
/**
 * Maximum length in characters. Leaves room for many records and form contents, bounds the work per request, and stays far below the
 * body limits of MCP servers.
 */
const MAX_LENGTH = 65_536;

const requestStateSchema = z.strictObject({
  issuer: z.string(),
  subject: z.string(),
  /** The wrapped handler (`ToolCall.handler`). */
  tool: z.string(),
  /** Digest of the tool's arguments. */
  args: z.string(),
  call: callIdentitySchema,
  /** Asks of the call so far, including this round. */
  asks: askRecordsSchema,
  /** Key of the ask of this round. */
  open: z.string(),
  /** Whether the round with this state asked the user (`ask`) or only asked the MCP client to retry (`wait`). */
  phase: z.enum(['ask', 'wait']),
  /** Number of `input_required` results of this call, including this one. */
  round: z.int().min(1),
  /** Seconds since the epoch. */
  exp: z.int(),
});

export type RequestState = z.infer<typeof requestStateSchema>;

/** Binding of a state; every member is compared on return. */
export type RequestStateBinding = Pick<RequestState, 'issuer' | 'subject' | 'tool' | 'args'>;

export interface RequestStateCodec {
  /** @throws {PosternUsageError} `state_too_large` */
  seal(state: RequestState): Promise<string>;
  /** @throws {InvalidRequestStateError} */
  open(sealed: string): Promise<RequestState>;
}

/**
 * `requestState` travels through the MCP client, so an attacker controls it (MCP 2026-07-28, multi round-trip requests). It is a
 * JWE (RFC 7516; `dir`, A256GCM), so the MCP client can neither alter it nor read the elicitation, the user's identifier and form
 * contents. A replay until its expiry reads the gateway's stored status and redeems with the same key, so it gets only the result
 * that this call already had. The gateway enforces single use.
 */
export function createRequestStateCodec(keys: readonly StateKey[], now: () => number): RequestStateCodec {
  const [current] = keys;
  if (current === undefined) throw invalidOptions('stateKeys: at least one key is needed.');
  const byId = new Map<string, Uint8Array>();
  for (const { kid, key } of keys) {
    if (key.byteLength !== 32) throw invalidOptions(`stateKeys: ${kid} is not 32 bytes long.`);
    if (byId.has(kid)) throw invalidOptions(`stateKeys: ${kid} appears twice.`);
    byId.set(kid, Uint8Array.from(key));
  }
  const sealing = { kid: current.kid, key: Uint8Array.from(current.key) };

  return {
    async seal(state) {
      const plaintext = new TextEncoder().encode(JSON.stringify(requestStateSchema.parse(state)));
      const sealed = await new CompactEncrypt(plaintext)
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: TYPE, kid: sealing.kid })
        .encrypt(sealing.key);
      if (sealed.length > MAX_LENGTH)
        throw new PosternUsageError('state_too_large', 'The state of this call is too large for requestState.');
      return sealed;
    },

    async open(sealed) {
      const header = readHeader(sealed);
      if (header?.typ !== TYPE || header.kid === undefined) throw new InvalidRequestStateError('malformed');
      const key = byId.get(header.kid);
      if (key === undefined) throw new InvalidRequestStateError('unknown_key');
      const state = parse(await decrypt(sealed, key));
      if (state.exp <= Math.floor(now() / 1000)) throw new InvalidRequestStateError('expired');
      return state;
    },
  };
}

/** @throws {InvalidRequestStateError} when the state was sealed for another user, tool or arguments */
export function assertBinding(state: RequestState, expected: RequestStateBinding): void {
  if (state.issuer !== expected.issuer || state.subject !== expected.subject) {
    throw new InvalidRequestStateError('other_subject');
  }
  if (state.tool !== expected.tool) throw new InvalidRequestStateError('other_tool');
  if (state.args !== expected.args) throw new InvalidRequestStateError('other_arguments');
}

/**
 * Derives the key from the API key (HKDF, RFC 5869), so replicas with the same API key share it. Rotating the API key invalidates
 * calls in flight; set `stateKeys` to avoid that.
 */
export function deriveStateKey(apiKey: string): StateKey {
  const derive = (purpose: string, length: number) =>
    new Uint8Array(hkdfSync('sha256', apiKey, '', `postern/mcp/request-state/${purpose}/v1`, length));
  return { kid: Buffer.from(derive('kid', 6)).toString('base64url'), key: derive('key', 32) };
}

async function decrypt(sealed: string, key: Uint8Array): Promise<Uint8Array> {
  try {
    const opened = await compactDecrypt(sealed, key, {
      keyManagementAlgorithms: ['dir'],
      contentEncryptionAlgorithms: ['A256GCM'],
    });
    return opened.plaintext;
  } catch (error) {
    if (error instanceof joseErrors.JOSEError) throw new InvalidRequestStateError('forged', { cause: error });
    throw error;
  }
}

/** An authentic state may come from another release of this package. */
function parse(plaintext: Uint8Array): RequestState {
  const parsed = requestStateSchema.safeParse(jsonOf(new TextDecoder().decode(plaintext)));
  if (!parsed.success) throw new InvalidRequestStateError('malformed', { cause: parsed.error });
  return parsed.data;
}

function readHeader(sealed: string): { typ?: string | undefined; kid?: string | undefined } | undefined {
  if (sealed.length > MAX_LENGTH) return undefined;
  try {
    return decodeProtectedHeader(sealed);
  } catch {
    return undefined;
  }
}
