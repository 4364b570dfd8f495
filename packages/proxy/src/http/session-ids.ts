import { CompactEncrypt, compactDecrypt, errors as joseErrors } from 'jose';
import { z } from 'zod/v4';

const TYPE = 'postern-proxy-session';
/** Of a session id as it comes. Longer ones are not ours. */
const MAX_LENGTH = 6_000;
/** Of what an MCP client says of itself, and of the upstream's id: HTTP servers read headers of 8 or 16 KB. */
const MAX_TEXT = 1_000;

const sessionSchema = z.strictObject({
  /** Which upstream. */
  upstream: z.string(),
  /** Its own id of the session, if it gave one. */
  id: z.string().optional(),
  /** Whose session it is. */
  owner: z.string(),
  /** `initialize` of the MCP client as JSON text, as far as this proxy needs it. */
  initialize: z.string(),
});

/** All that this proxy knows of a session of revision 2025-11-25. */
export type SessionState = z.infer<typeof sessionSchema>;

const initializeSchema = z.object({
  protocolVersion: z.string().max(100).optional().catch(undefined),
  clientInfo: z
    .object({ name: z.string().max(200) })
    .optional()
    .catch(undefined),
  capabilities: z
    .object({ elicitation: z.object({ url: z.object({}).optional(), form: z.object({}).optional() }).optional() })
    .optional()
    .catch(undefined),
});

/**
 * Session ids for MCP clients. A session is sealed into its id, so every replica can serve it, and so can this proxy after a restart.
 */
export class SessionIds {
  readonly #key: Uint8Array;

  /** @param key 32 bytes */
  constructor(key: Uint8Array) {
    this.#key = Uint8Array.from(key);
  }

  /** @param params of `initialize`. @throws {RangeError} if the upstream's id is too long for a header */
  async seal(state: Omit<SessionState, 'initialize'>, params: unknown): Promise<string> {
    if ((state.id?.length ?? 0) > MAX_TEXT) throw new RangeError('The session id of the upstream is too long.');
    const initialize = JSON.stringify(initializeSchema.safeParse(params).data ?? {});
    const plaintext = new TextEncoder().encode(JSON.stringify({ ...state, initialize }));
    return await new CompactEncrypt(plaintext)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: TYPE })
      .encrypt(this.#key);
  }

  /** Undefined for an id of another upstream, of another person, or of none. */
  async open(
    sessionId: string,
    p: { readonly upstream: string; readonly owner: string },
  ): Promise<SessionState | undefined> {
    if (sessionId.length > MAX_LENGTH) return undefined;
    try {
      const { plaintext, protectedHeader } = await compactDecrypt(sessionId, this.#key, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
      });
      const state = sessionSchema.parse(JSON.parse(new TextDecoder().decode(plaintext)));
      const isTheirs = protectedHeader.typ === TYPE && state.upstream === p.upstream && state.owner === p.owner;
      return isTheirs ? state : undefined;
    } catch (error) {
      if (error instanceof joseErrors.JOSEError) return undefined;
      throw error;
    }
  }
}
