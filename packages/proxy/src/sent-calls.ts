import { randomBytes, randomUUID } from 'node:crypto';
import { type JsonObject, memberOf, stringOf, withMembers } from '@postern/api/json';
import { CompactEncrypt, compactDecrypt, decodeProtectedHeader, errors as joseErrors } from 'jose';
import { z } from 'zod/v4';
import { type Message, RpcError } from './message.ts';

const TYPE = 'postern-proxy-state';
/** How long the MCP client may take for a round of the upstream, in ms. */
const ROUND_MS = 60 * 60_000;
const MAX_LENGTH = 1024 * 1024;

const stateSchema = z.strictObject({
  /** Used up by the round that carries it. */
  id: z.uuid(),
  /** Digest of what the person has confirmed. */
  binding: z.string(),
  /** State of the upstream. */
  state: z.string().optional(),
  /** Epoch milliseconds. */
  exp: z.int(),
});

/**
 * Confirmed calls that the upstream has not finished: with 2026-07-28 it may want something first (`input_required`). The round that
 * follows belongs to the confirmed call, so its state travels sealed, bound to what the person has confirmed, and counts once.
 */
export class SentCalls {
  readonly #key = Uint8Array.from(randomBytes(32));
  readonly #open = new Map<string, number>();

  /** The response for the MCP client. */
  async wrapped(response: Message, binding: string): Promise<Buffer> {
    const result = memberOf(response.root, 'result');
    if (result?.type !== 'object' || stringOf(result, 'resultType') !== 'input_required') return response.bytes;
    const state = { id: randomUUID(), binding, exp: Date.now() + ROUND_MS };
    for (const [id, until] of this.#open) if (until < Date.now()) this.#open.delete(id);
    this.#open.set(state.id, state.exp);
    const upstream = stringOf(result, 'requestState');
    const sealed = await new CompactEncrypt(new TextEncoder().encode(JSON.stringify({ ...state, state: upstream })))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: TYPE })
      .encrypt(this.#key);
    return withState(response, result, sealed);
  }

  /**
   * The message with the state of the upstream. Undefined for a call that is not such a round.
   *
   * @throws {RpcError} if it belongs to another call, or was here before
   */
  async continued(message: Message, binding: string): Promise<Buffer | undefined> {
    const { params } = message;
    const sealed = stringOf(params, 'requestState');
    if (params?.type !== 'object' || sealed === undefined || !isRound(message)) return undefined;
    const opened = await this.#opened(sealed);
    const isItsOwn = opened !== undefined && opened.binding === binding;
    // Deleted before anything is sent: of two equal rounds one goes on.
    if (!isItsOwn || opened.exp < Date.now() || !this.#open.delete(opened.id))
      throw new RpcError(-32602, 'Invalid or expired requestState', { reason: 'invalid_request_state' });
    return withState(message, params, opened.state);
  }

  async #opened(sealed: string): Promise<z.infer<typeof stateSchema> | undefined> {
    try {
      const { plaintext } = await compactDecrypt(sealed, this.#key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
      });
      return stateSchema.parse(JSON.parse(new TextDecoder().decode(plaintext)));
    } catch (error) {
      if (error instanceof joseErrors.JOSEError) return undefined;
      throw error;
    }
  }
}

/** Whether a call says that it goes on with one that was sent before. */
export function isRound({ params }: Message): boolean {
  const state = stringOf(params, 'requestState');
  if (state === undefined || state.length > MAX_LENGTH) return false;
  try {
    return decodeProtectedHeader(state).typ === TYPE;
  } catch {
    // It is of another kind.
    return false;
  }
}

function withState({ text }: Message, of: JsonObject, state: string | undefined): Buffer {
  return Buffer.from(withMembers(text, of, { requestState: state === undefined ? undefined : JSON.stringify(state) }));
}
