import {
  hasRepeatedName,
  type JsonNode,
  type JsonObject,
  JsonTextError,
  memberOf,
  objectsIn,
  readJsonText,
  stringOf,
} from '@postern/api/json';

/** An error of JSON-RPC, for the MCP client. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: object | undefined;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The text of whatever was thrown. */
export const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** A request of this proxy. @param id and params as JSON text */
export const requestText = (id: string, method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${params}}`;

/** A JSON-RPC message as it came, and where its members are. */
export class Message {
  readonly bytes: Buffer;
  readonly text: string;
  readonly root: JsonObject;

  constructor(bytes: Buffer, text: string, root: JsonObject) {
    this.bytes = bytes;
    this.text = text;
    this.root = root;
  }

  /** Undefined for a response. */
  get method(): string | undefined {
    return stringOf(this.root, 'method');
  }

  /** The id as JSON text, equal for all spellings of one id. Undefined for a notification. */
  get id(): string | undefined {
    return idOf(memberOf(this.root, 'id'));
  }

  get isResponse(): boolean {
    return this.root.members.some(({ name }) => name === 'result' || name === 'error');
  }

  get params(): JsonNode | undefined {
    return memberOf(this.root, 'params');
  }

  textOf(node: JsonNode | undefined): string | undefined {
    return node && this.text.slice(node.start, node.end);
  }

  /** The value of a node. Numbers lose their digits: only for what is not passed on. */
  valueOf(node: JsonNode | undefined): unknown {
    const text = this.textOf(node);
    return text === undefined ? undefined : JSON.parse(text);
  }
}

/** The id of a request, as JSON text in one spelling. */
export function idOf(node: JsonNode | undefined): string | undefined {
  if (node === undefined || node.type === 'object' || node.type === 'array') return undefined;
  if (node.type === 'string') return JSON.stringify(node.text);
  const number = node.type === 'number' ? Number(node.text) : Number.NaN;
  return Number.isSafeInteger(number) ? String(number) : node.text;
}

/** Equal for texts that a lenient reader may take as one. */
export function folded(text: string): string {
  return text.normalize('NFKC').trim().toLowerCase();
}

/** Names longer than this match no known name. Folding them would take long. */
const MAX_FOLDED = 64;

/** Names that mean something. Finds other spellings of them, because some readers ignore case, for example. */
export class KnownNames {
  readonly #names: ReadonlySet<string>;
  readonly #byFolded: ReadonlyMap<string, string>;

  constructor(names: Iterable<string>) {
    this.#names = new Set(names);
    this.#byFolded = new Map(Array.from(this.#names, name => [folded(name), name]));
  }

  /** Returns the known name that a lenient reader would take `name` for, unless `name` is known itself. */
  mistakenFor(name: string): string | undefined {
    return this.#names.has(name) || name.length > MAX_FOLDED ? undefined : this.#byFolded.get(folded(name));
  }
}

/** Methods that rules are about. */
const METHODS = new KnownNames(['tools/call', 'tools/list']);
const MESSAGE_NAMES = new KnownNames(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
const CALL_NAMES = new KnownNames(['name', 'arguments', '_meta', 'requestState', 'inputResponses', 'task']);

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const CARRIAGE_RETURN = 0x0d;

/**
 * Reads a message of an MCP client. Refuses what the upstream could read otherwise than this proxy does: bytes that are not UTF-8, names
 * that stand twice or in other letters (some readers ignore case), and lines that some readers would split.
 *
 * @param isLine whether it comes on a line of its own, which ends it
 * @returns several messages for a batch (revision 2025-03-26)
 * @throws {RpcError}
 */
export function readClientMessage(bytes: Buffer, isLine = true): Message | readonly Message[] {
  const { text, root } = parsed(bytes);
  // Python's text streams, for one, end a line at it. Within a string it is escaped, so it is never needed.
  if (isLine && bytes.includes(CARRIAGE_RETURN)) throw new RpcError(-32600, 'a carriage return within a message');
  const parts = root.type === 'array' ? root.elements : [root];
  const messages = parts.map(part => {
    if (part.type !== 'object') throw new RpcError(-32600, 'not a JSON-RPC message');
    const message = new Message(bytes, text, part);
    refuseAmbiguous(part, MESSAGE_NAMES);
    const { method, params } = message;
    if (method !== undefined && METHODS.mistakenFor(method) !== undefined)
      throw new RpcError(-32600, 'a method that could be taken for another one');
    if (method === 'tools/call' && params?.type === 'object') refuseAmbiguous(params, CALL_NAMES);
    return message;
  });
  const [first] = messages;
  return root.type === 'object' && first !== undefined ? first : messages;
}

function parsed(bytes: Buffer): { readonly text: string; readonly root: JsonNode } {
  try {
    const text = utf8.decode(bytes);
    return { text, root: readJsonText(text) };
  } catch {
    // The cause would quote the message.
    throw new RpcError(-32700, 'not JSON in UTF-8');
  }
}

/** @throws {RpcError} */
function refuseAmbiguous({ members }: JsonObject, names: KnownNames): void {
  const seen = new Set<string>();
  for (const { name } of members) {
    const meant = names.mistakenFor(name);
    if (meant !== undefined) throw new RpcError(-32600, `a member that could be taken for ${meant}`);
    if (seen.has(name)) throw new RpcError(-32600, 'a member that stands twice');
    seen.add(name);
  }
}

/** @throws {RpcError} if readers could differ in what the arguments of a call are */
export function refuseRepeatedNames(node: JsonNode): void {
  if (hasRepeatedName(node)) throw new RpcError(-32600, 'a member that stands twice');
}

/**
 * Refuses arguments in which a reader that ignores case would find others than the rules do.
 *
 * @param known names that decide
 * @throws {RpcError}
 */
export function refuseLookalikes(node: JsonNode, known: KnownNames): void {
  for (const { members } of objectsIn(node))
    for (const { name } of members) {
      const meant = known.mistakenFor(name);
      if (meant !== undefined)
        throw new RpcError(-32602, `an argument that could be taken for ${JSON.stringify(meant)}`);
    }
}

const LONG_BYTES = 1024 * 1024;

/** Whether a line of an upstream is a message, or several. Takes less than to read it. */
export function isMessage(bytes: Buffer): boolean {
  // A log does not write such lines, and to parse them would hold up everything else.
  if (bytes.length > LONG_BYTES) return bytes[0] === 0x7b || bytes[0] === 0x5b;
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null;
  } catch {
    // A line of a log, say.
    return false;
  }
}

/** Reads a message of an upstream. Undefined for anything else, such as a line of a log. None of one that is too deep to be looked into. */
export function readUpstreamMessage(bytes: Buffer): Message | readonly Message[] | undefined {
  try {
    const text = bytes.toString('utf8');
    const root = readJsonText(text);
    if (root.type === 'object') return new Message(bytes, text, root);
    if (root.type !== 'array') return undefined;
    const bytesOf = ({ start, end }: JsonObject) => Buffer.from(text.slice(start, end));
    return root.elements.flatMap(item => (item.type === 'object' ? new Message(bytesOf(item), text, item) : []));
  } catch (error) {
    if (error instanceof JsonTextError) return error.code === 'too_deep' ? [] : undefined;
    throw error;
  }
}

/** The messages of an upstream in one text: none, one, or those of a batch. */
export function upstreamMessagesIn(bytes: Buffer): readonly Message[] {
  const read = readUpstreamMessage(bytes);
  return read === undefined ? [] : 'root' in read ? [read] : read;
}

/** An upper bound for one message, in bytes. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/**
 * The lines of a stream, without their ends and without empty ones.
 *
 * @throws {RangeError} for a line of more than {@link MAX_MESSAGE_BYTES}
 */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line = withoutReturn(Buffer.concat([...pending, chunk.subarray(start, end)]));
      pending = [];
      size = 0;
      start = end + 1;
      if (line.length > 0) yield line;
    }
    const rest = chunk.subarray(start);
    size += rest.length;
    if (size > MAX_MESSAGE_BYTES) throw new RangeError(`a message of more than ${MAX_MESSAGE_BYTES} bytes`);
    if (rest.length > 0) pending.push(rest);
  }
  const last = withoutReturn(Buffer.concat(pending));
  if (last.length > 0) yield last;
}

const withoutReturn = (line: Buffer): Buffer => (line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line);

/** All bytes of a body. @throws {RangeError} for more than `limit` of them */
export async function whole(body: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > limit) throw new RangeError(`a body of more than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
