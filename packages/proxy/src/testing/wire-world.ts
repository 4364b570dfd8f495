import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { startTestGateway, type TestGateway } from '@postern/mcp/testing';
import type { z } from 'zod/v4';
import { createRules, upstreamSchema } from '../config.ts';
import { Guard, type GuardOptions } from '../guard.ts';
import { linesOf } from '../message.ts';
import { StdioProxy } from '../stdio-proxy.ts';

/** The real gateway, whose one user is the person of this machine. */
export function startGateway(providers: readonly string[] = []): Promise<TestGateway> {
  const program = fileURLToPath(new URL('../../../../services/gateway/src/postern.ts', import.meta.url));
  return startTestGateway({ providers, command: [process.execPath, program, 'start'] });
}

/** One end of a stdio connection, line by line. */
class End {
  readonly #out: PassThrough;
  readonly #lines: AsyncGenerator<Buffer>;
  #ahead: Promise<string | undefined> | undefined;

  constructor(out: PassThrough, input: PassThrough) {
    this.#out = out;
    this.#lines = linesOf(input);
  }

  /** @param message a text is sent as it is */
  send(message: object | string): void {
    this.#out.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  /** The next line. Undefined at the end. */
  async line(): Promise<string | undefined> {
    const line = this.ahead();
    this.#ahead = undefined;
    return await line;
  }

  /** The next line, which stays the next one. */
  ahead(): Promise<string | undefined> {
    this.#ahead ??= this.#lines.next().then(
      ({ value, done }) => (done === true ? undefined : value.toString()),
      // The proxy has destroyed it.
      () => undefined,
    );
    return this.#ahead;
  }

  /** The next message, in which any member is looked for. @throws at the end of the stream */
  async next(): Promise<WireMessage> {
    return JSON.parse((await this.line()) ?? 'null');
  }

  end(): void {
    this.#out.end();
  }
}

/** A message whose members the test knows. */
export interface WireMessage {
  readonly id?: string | number;
  readonly method?: string;
  readonly params: Readonly<Record<string, never>> & {
    readonly url: string;
    readonly arguments: unknown;
    readonly _meta: never;
  };
  readonly result: {
    readonly content: readonly { readonly text: string }[];
    readonly isError?: boolean;
    readonly resultType?: string;
    readonly requestState: string;
    readonly inputRequests: { readonly postern: { readonly params: { readonly url: string } } };
    readonly tools: readonly { readonly name: string }[];
  };
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface WireWorld extends AsyncDisposable {
  /** Where the MCP client is. */
  readonly client: End;
  /** Where the upstream is. */
  readonly upstream: End;
  /** Standard error of the upstream, and what the proxy makes of it. */
  readonly errors: End;
  readonly log: readonly string[];
  readonly code: Promise<number>;
  /** The upstream ends, as by a crash. */
  crash(): void;
}

/** The next message at either end, whichever is first. A test that waits at one end alone would wait for ever. */
export async function nextAt({ client, upstream }: WireWorld): Promise<WireMessage & { readonly at: string }> {
  const first = await Promise.race([client.ahead().then(() => client), upstream.ahead().then(() => upstream)]);
  return { ...(await first.next()), at: first === client ? 'client' : 'upstream' };
}

/** A proxy between two ends that the test holds. */
export async function startWire(
  rules: Partial<z.input<typeof upstreamSchema>>,
  gate: GuardOptions['gate'] = NO_GATEWAY,
  upstream = 'files',
): Promise<WireWorld> {
  const [toProxy, fromProxy, toUpstream, fromUpstream, fromLog, toLog] = Array.from(
    { length: 6 },
    () => new PassThrough(),
  ) as [PassThrough, PassThrough, PassThrough, PassThrough, PassThrough, PassThrough];
  const ended = Promise.withResolvers<number>();
  const log: string[] = [];
  const crash = () => {
    fromUpstream.end();
    fromLog.end();
    ended.resolve(1);
  };
  const parsed = await createRules(upstreamSchema.parse({ command: ['a program'], ...rules }));
  const say: GuardOptions['log'] = (event, details) =>
    log.push(details === undefined ? event : `${event} ${JSON.stringify(details)}`);
  const guard = new Guard({ upstream, instance: upstream, rules: parsed, gate, log: say });
  const proxy = new StdioProxy({
    input: toProxy,
    output: fromProxy,
    errorOutput: toLog,
    child: {
      stdin: toUpstream,
      stdout: fromUpstream,
      stderr: fromLog,
      ended: ended.promise,
      async stop() {
        toUpstream.end();
        crash();
      },
    },
    guard,
    rules: parsed,
    log: say,
  });
  const code = proxy.run().finally(() => guard.close());
  return {
    client: new End(toProxy, fromProxy),
    upstream: new End(fromUpstream, toUpstream),
    errors: new End(fromLog, toLog),
    log,
    code,
    crash,
    async [Symbol.asyncDispose]() {
      toProxy.end();
      await code;
    },
  };
}

/** A gateway that nothing may reach. */
const NO_GATEWAY: GuardOptions['gate'] = {
  url: 'http://127.0.0.1:1',
  apiKey: 'pk_0123456789abcdef',
  subject: { issuer: 'http://localhost', subject: 'nobody' },
  check: false,
  onBackgroundError() {},
  fetch: () => Promise.reject(new Error('no gateway in this test')),
};

/** The `_meta` of a client of 2026-07-28. */
export const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'host', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } },
};

export const callOf = (id: number | string, name: string, args: object = {}, more: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, ...more },
});
