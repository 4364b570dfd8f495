import { z } from 'zod/v4';

type LocalErrorCode =
  | 'not_private'
  | 'no_home'
  | 'not_the_gateway'
  | 'bad_message'
  | 'timeout'
  | 'closed'
  | 'busy'
  | 'unreachable';

/** The local gateway cannot be used. The message is for its owner and contains no secret. */
export class LocalError extends Error {
  override readonly name = 'LocalError';
  /** Only messages of `not_private` name places of this machine. */
  readonly code: LocalErrorCode;

  constructor(code: LocalErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Longest text in one message. Longer output is several messages. */
export const MAX_TEXT = 64 * 1024;
/** Maximum length of a message, in characters. JSON writes a control character as six. */
export const MAX_MESSAGE = 6 * MAX_TEXT + 4_096;

const proof = z.string().max(100);
const nonce = z.string().min(40).max(100);
const text = z.string().max(MAX_TEXT);

/** First message of the caller. */
export const helloSchema = z.object({ nonce });
/** The gateway proves first that it knows the key: a caller sends nothing to anything else. */
export const welcomeSchema = z.object({ nonce, proof, version: z.string().max(64) });

/** In place of a welcome, to one caller too many: it must not conclude that none runs. */
export const busySchema = z.object({ busy: z.literal(true) });

/** Name of an MCP server, as it says: that of its package or script. */
export const serverNameSchema = z
  .string()
  .max(64)
  .regex(/^[@._/-]*[A-Za-z0-9][A-Za-z0-9@._/-]*$/);

/** What the gateway does for its owner. */
export const operationSchema = z.discriminatedUnion('operation', [
  z.object({
    operation: z.literal('command'),
    args: z.array(text).max(1_000),
    isTerminal: z.boolean(),
    /** Whether someone is there to answer. */
    answers: z.boolean(),
  }),
  z.object({ operation: z.literal('join'), name: serverNameSchema }),
  z.object({ operation: z.literal('status') }),
  z.object({
    operation: z.literal('stop'),
    /** Refuses if something is in progress. */
    ifIdle: z.boolean(),
  }),
]);
export type LocalOperation = z.infer<typeof operationSchema>;
export const requestSchema = z.object({ proof, request: operationSchema });

/** Answers by operation. A command answers with the messages below. */
export const joinedSchema = z.object({ url: z.url(), apiKey: z.string().min(16), mcpServerId: z.string() });
export type Joined = z.infer<typeof joinedSchema>;

export const localStatusSchema = z.object({
  version: z.string(),
  pid: z.int(),
  url: z.string(),
  console: z.string().optional(),
  config: z.string(),
  store: z.string(),
  log: z.string().optional(),
  openAsks: z.int(),
  /** Time of the last request, ISO 8601. */
  idleSince: z.string(),
  mcpServers: z.array(z.string()),
});
export type LocalStatus = z.infer<typeof localStatusSchema>;

export const stoppedSchema = z.object({ stopped: z.boolean() });

/** A refusal has a stable code. */
export const answerSchema = z.union([
  z.object({ refused: z.object({ code: z.string(), message: z.string() }) }),
  z.object({ answer: z.unknown() }),
]);

/** What a command that runs in the gateway says to its caller. `id` names what the caller answers. */
export const commandMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('out'), text }),
  z.object({ type: z.literal('err'), text }),
  z.object({ type: z.literal('ask'), id: z.int(), text }),
  /** Files are those of the caller. */
  z.object({ type: z.literal('read'), id: z.int(), path: text }),
  z.object({ type: z.literal('create'), id: z.int(), path: text }),
  z.object({ type: z.literal('write'), id: z.int(), text }),
  z.object({ type: z.literal('exit'), code: z.int() }),
]);
export type CommandMessage = z.infer<typeof commandMessageSchema>;

/** What the caller of a command says meanwhile. */
export const callerMessageSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('interrupt') }),
  z.object({ type: z.literal('unread') }),
  z.object({ type: z.literal('reply'), id: z.int(), text: text.optional() }),
  z.object({ type: z.literal('failed'), id: z.int(), message: text, isUsage: z.boolean() }),
]);
export type CallerMessage = z.infer<typeof callerMessageSchema>;
