/** The parts of a program that a profile is divided into. */
export type Part =
  | `Postern: ${string}`
  | `system calls: ${'HTTP' | 'Redis' | 'log'}`
  | `node: ${'http, net, streams' | 'crypto' | 'TLS' | 'timers, promises, others'}`
  | 'zod'
  | 'fastify'
  | 'ioredis'
  | 'jose'
  | 'log'
  | 'MCP SDK'
  | 'other packages'
  | 'garbage collection'
  | 'engine, not attributed'
  | 'loading modules';

/** A function of a CPU profile of V8. Native functions have no `url`. */
export interface Frame {
  readonly functionName: string;
  readonly url: string;
}

/** Calls of libuv that write to a socket, a pipe or a file. */
const WRITES = /^(?:writev|write(?:Buffer|String|Utf8String|Latin1String|AsciiString|Ucs2String)|shutdown)$/;

const PACKAGES: readonly (readonly [RegExp, Part])[] = [
  [/^zod$/, 'zod'],
  [/^(?:@?fastify\b.*|find-my-way|avvio|secure-json-parse|fast-querystring|light-my-request|toad-cache)$/, 'fastify'],
  [/^(?:ioredis|@ioredis\/.*|denque|cluster-key-slot)$/, 'ioredis'],
  [/^(?:jose|oauth4webapi|openid-client)$/, 'jose'],
  [/^(?:pino|sonic-boom|pino-std-serializers|thread-stream|safe-stable-stringify)$/, 'log'],
  [/^@modelcontextprotocol\//, 'MCP SDK'],
];

/**
 * Returns the part that the last function of a stack belongs to. Native functions belong to their caller, except writes, which belong to
 * the owner of the socket or file.
 * @param stack the innermost function first. Undefined for time without work.
 */
export function partOf(stack: readonly Frame[]): Part | undefined {
  const [self] = stack;
  if (self === undefined) return undefined;
  switch (self.functionName) {
    case '(idle)':
    case '(root)':
      return undefined;
    case '(garbage collector)':
      return 'garbage collection';
    case '(program)':
      return 'engine, not attributed';
  }
  if (stack.some(({ url }) => /^node:internal\/(?:modules|bootstrap|main|process\/execution)/.test(url)))
    return 'loading modules';
  if (self.url === '' && WRITES.test(self.functionName)) return `system calls: ${writerOf(stack)}`;
  const { url = '' } = stack.find(frame => frame.url !== '') ?? {};
  return url.startsWith('node:') ? nodePart(url) : ownPart(url);
}

function writerOf(stack: readonly Frame[]): 'HTTP' | 'Redis' | 'log' {
  for (const { url } of stack) {
    if (/\/(?:ioredis|store-redis)\//.test(url)) return 'Redis';
    if (/\/(?:pino|sonic-boom)\//.test(url)) return 'log';
  }
  return 'HTTP';
}

function nodePart(url: string): Part {
  if (/crypto|webidl/.test(url)) return 'node: crypto';
  if (/tls/.test(url)) return 'node: TLS';
  if (/http|net|stream|buffer|events|dns|url/.test(url)) return 'node: http, net, streams';
  return 'node: timers, promises, others';
}

function ownPart(url: string): Part {
  const [, name] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (name !== undefined && !name.startsWith('@postern/'))
    return PACKAGES.find(([packages]) => packages.test(name))?.[1] ?? 'other packages';
  const [, room] = /\/(packages\/[^/]+|gateway\/src\/[^/]+|test\/bench)(?:\/|$)/.exec(url) ?? [];
  return room === undefined
    ? 'other packages'
    : `Postern: ${room.replace('gateway/src/', 'gateway/').replace('.ts', '')}`;
}
