import { hkdfSync } from 'node:crypto';
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader, errors as joseErrors } from 'jose';
import { z } from 'zod';
import { InvalidRequestStateError, PosternUsageError } from './errors.ts';
import { stepsSchema } from './steps.ts';

/** One sealing key of 32 bytes. The first of a list seals, all of them open: prepend the new one to rotate. */
export interface StateKey {
  readonly kid: string;
  readonly key: Uint8Array;
}

const TYPE = 'postern-request-state';
/**
 * Characters. Room for many steps and for what people type into forms; bounds the work on what a stranger sends, and stays far
 * below the bodies that MCP servers take.
 */
const MAX_LENGTH = 65_536;

const requestStateSchema = z.strictObject({
  issuer: z.string(),
  subject: z.string(),
  /** Empty where the MCP server could not name the tool (see `GatedToolOptions.name`). */
  tool: z.string(),
  /** Digest of the tool's arguments. */
  args: z.string(),
  /** What the call has asked so far, this round included. */
  steps: stepsSchema,
  /** Key of the step that the round was about. */
  open: z.string(),
  /** Whether the round that carried this state asked the user (`ask`) or only asked for patience (`wait`). */
  phase: z.enum(['ask', 'wait']),
  /** How many `input_required` results this call has had, this one included. */
  round: z.int().min(1),
  /** Seconds since the epoch. */
  exp: z.int(),
});

export type RequestState = z.infer<typeof requestStateSchema>;

/** What a state is bound to; all of it is compared on the way back. */
export type RequestStateBinding = Pick<RequestState, 'issuer' | 'subject' | 'tool' | 'args'>;

export interface RequestStateCodec {
  /** @throws {PosternUsageError} `state_too_large` */
  seal(state: RequestState): Promise<string>;
  /** @throws {InvalidRequestStateError} */
  open(sealed: string): Promise<RequestState>;
  /** Whether a string has the outer form of ours. Proves nothing. */
  owns(sealed: string): boolean;
}

/**
 * `requestState` travels through the MCP client, so it is attacker-controlled (MCP 2026-07-28, multi round-trip requests).
 * It is a JWE (RFC 7516; `dir`, A256GCM): integrity keeps it from being altered, encryption keeps the elicitation, the
 * user's identifier and what was typed into forms from being read. It can be replayed until it expires: every replay reads the
 * gateway's stored status and redeems with the same key, so it gets the result that this call already had, and never another
 * one. Single use is enforced in the gateway.
 */
export function createRequestStateCodec(keys: readonly StateKey[], now: () => number): RequestStateCodec {
  const [current] = keys;
  if (current === undefined) throw new PosternUsageError('invalid_options', 'stateKeys: at least one key is needed.');
  const byId = new Map<string, Uint8Array>();
  for (const { kid, key } of keys) {
    if (key.byteLength !== 32)
      throw new PosternUsageError('invalid_options', `stateKeys: ${kid} is not 32 bytes long.`);
    if (byId.has(kid)) throw new PosternUsageError('invalid_options', `stateKeys: ${kid} appears twice.`);
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
        throw new PosternUsageError(
          'state_too_large',
          'What this call has to remember between its rounds is too much.',
        );
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

    owns: sealed => readHeader(sealed)?.typ === TYPE,
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
 * Replicas that share an API key share this key without further set-up (HKDF, RFC 5869). Rotating the API key ends the
 * calls in flight; set `stateKeys` where that matters.
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

/** What has been authenticated can still come from another release of this package. */
function parse(plaintext: Uint8Array): RequestState {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder().decode(plaintext));
  } catch (error) {
    throw new InvalidRequestStateError('malformed', { cause: error });
  }
  const parsed = requestStateSchema.safeParse(json);
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
