#!/usr/bin/env node
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { readFileOfProxy } from './config.ts';
import { Guard, type GuardOptions } from './guard.ts';
import type { HttpUpstreamOptions } from './http/http-upstream.ts';
import { textOf } from './message.ts';
import { Rules } from './rules.ts';
import { nameOf, UsageError, wholeEnvironment } from './short-form.ts';
import { StdioProxy } from './stdio-proxy.ts';
import { type UpstreamCommand, UpstreamProcess } from './upstream-process.ts';

const USAGE = `postern-proxy [--name NAME] -- COMMAND…       serves COMMAND, an MCP server on stdio: what is not read-only asks
postern-proxy FILE [--upstream NAME]           serves what a file with rules names, on stdio or over HTTP
postern-proxy check FILE | -- COMMAND…         prints what happens to each tool
postern-proxy config --client CLIENT …         prints the configuration of an MCP client, in place of FILE or COMMAND
postern-proxy schema                           prints the JSON Schema of the file`;

/** What the arguments ask for. */
interface Request {
  readonly action: 'serve' | 'check' | 'config' | 'schema' | 'help';
  readonly file: string | undefined;
  /** Of the server. */
  readonly name: string | undefined;
  readonly client: string | undefined;
  /** Program and arguments. */
  readonly command: readonly string[];
}

interface Served {
  readonly type: 'stdio';
  readonly name: string;
  readonly rules: Rules;
  readonly command: UpstreamCommand;
  readonly gateway: Pick<GuardOptions['gate'], 'url' | 'apiKey' | 'subject'>;
}

type ServedOverHttp = Extract<Awaited<ReturnType<typeof readFileOfProxy>>, { readonly type: 'http' }>;

/**
 * Everything from the first word that is no option and no file is the command, as it stands: some MCP clients take the `--` before it
 * for themselves.
 *
 * @throws {UsageError}
 */
function requested(args: readonly string[]): Request {
  const [first = ''] = args;
  const action = first === 'check' || first === 'config' || first === 'schema' ? first : 'serve';
  const rest = action === 'serve' ? args : args.slice(1);
  const { own, command } = divided(rest);
  const { values, positionals } = parsed(own);
  const [file, ...more] = positionals;
  const servers = (file === undefined ? 0 : 1) + (command.length === 0 ? 0 : 1);
  const isHelp = values.help === true;
  if (more.length > 0 || (!isHelp && servers !== (action === 'schema' ? 0 : 1))) throw new UsageError(USAGE);
  const name = values.upstream ?? values.name;
  return { action: isHelp ? 'help' : action, file, name, client: values.client, command };
}

const FILE = /\.(?:ya?ml|json)$/i;
/** Options with a value. */
const VALUED = new Set(['--name', '--upstream', '--client']);

function divided(args: readonly string[]): { readonly own: readonly string[]; readonly command: readonly string[] } {
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    if (word === '--') return { own: args.slice(0, at), command: args.slice(at + 1) };
    if (VALUED.has(word)) at += 1;
    else if (!word.startsWith('-') && !FILE.test(word)) return { own: args.slice(0, at), command: args.slice(at) };
  }
  return { own: args, command: [] };
}

function parsed(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const options = { name: text, upstream: text, client: text, help: { type: 'boolean', short: 'h' } } as const;
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(`${textOf(error)}\n\n${USAGE}`);
  }
}

/** @throws {UsageError} */
async function served({ file, name, command: own }: Request): Promise<Served | ServedOverHttp> {
  if (file === undefined) {
    const [command = '', ...args] = own;
    return {
      type: 'stdio',
      name: name ?? nameOf(own),
      rules: new Rules({ rules: [], default: 'confirm', trustAnnotations: true }),
      command: { command, args, env: wholeEnvironment(process.env) },
      gateway: {},
    };
  }
  // What reads the file takes memory that the short form does without.
  const { readFileOfProxy } = await import('./config.ts');
  return await readFileOfProxy(file, name, process.env);
}

/** One line on standard error, which MCP clients keep as the log of the server. */
function logFor(name: string): GuardOptions['log'] {
  return (event, details) => {
    const rest = details === undefined ? '' : ` ${JSON.stringify(details)}`;
    process.stderr.write(`postern-proxy ${name}: ${event}${rest}\n`);
  };
}

/** @throws {UsageError} */
async function start(command: UpstreamCommand): Promise<UpstreamProcess> {
  try {
    const child = await UpstreamProcess.start(command);
    let isStopping = false;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.on(signal, () => {
        if (isStopping) child.kill();
        isStopping = true;
        void child.stop();
      });
    return child;
  } catch (error) {
    throw new UsageError(`cannot start ${command.command} (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
  }
}

async function serve(of: Served): Promise<number> {
  const child = await start(of.command);
  const log = logFor(of.name);
  const guard = new Guard({
    upstream: of.name,
    instance: JSON.stringify([of.command.command, of.command.args, of.command.cwd ?? process.cwd()]),
    rules: of.rules,
    gate: { ...of.gateway, serverName: of.name, check: false, onBackgroundError: ({ message }) => log(message) },
    log,
  });
  if (of.gateway.url !== undefined) await usable(guard.prepare(), child);
  const proxy = new StdioProxy({ input: process.stdin, output: process.stdout, child, guard, rules: of.rules, log });
  const code = await proxy.run();
  await guard.close();
  return code;
}

/** @throws {UsageError} */
async function usable<T>(work: Promise<T>, child: UpstreamProcess | undefined): Promise<T> {
  try {
    return await work;
  } catch (error) {
    await child?.stop();
    throw new UsageError(textOf(error));
  }
}

/** Serves until a signal. A second one ends it at once. @throws {UsageError} */
async function serveHttp({ http, gateway, upstreams }: ServedOverHttp): Promise<number> {
  const { HttpProxy } = await import('./http/http-proxy.ts');
  const { listen, ...admission } = http;
  const log = logFor('http');
  const gate = { ...gateway, check: false as const, onBackgroundError: ({ message }: Error) => log(message) };
  const at = listen.lastIndexOf(':');
  try {
    const proxy = new HttpProxy({ upstreams, gate, admission, log: logFor });
    if (gateway.url !== undefined) await proxy.prepare();
    const host = listen.slice(0, at).replace(/^\[|\]$/g, '');
    const port = await proxy.listen(Number(listen.slice(at + 1)), host);
    for (const name of Object.keys(upstreams))
      log('serves', { upstream: name, url: `http://${listen.slice(0, at)}:${port}/${name}` });
    await stopSignal();
    await proxy.close();
    return 0;
  } catch (error) {
    throw new UsageError(textOf(error));
  }
}

function stopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let isStopping = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      resolve();
    });
  return promise;
}

/** @throws {UsageError} */
async function check(of: Served | ServedOverHttp): Promise<number> {
  if (of.type === 'stdio') {
    await checkOne(of.command, of.rules);
    return 0;
  }
  for (const [name, { rules, ...target }] of Object.entries(of.upstreams)) {
    process.stdout.write(`${name}\n\n`);
    await checkOne(target, rules);
    process.stdout.write('\n');
  }
  return 0;
}

/** @throws {UsageError} */
async function checkOne(target: UpstreamCommand | HttpUpstreamOptions, rules: Rules): Promise<void> {
  const rows = await usable(decisions(target, rules), undefined);
  const width = Math.max(4, ...rows.map(({ tool }) => shown(tool.name).length));
  for (const { tool, decision } of rows) {
    const by = typeof decision.by === 'number' ? `rule ${decision.by}` : decision.by;
    process.stdout.write(`${shown(tool.name).padEnd(width)}  ${decision.action.padEnd(7)}  ${by}\n`);
  }
  if (rules.needsArguments)
    process.stdout.write('\nRules with `when` are left out: they decide by the arguments of a call.\n');
}

async function decisions(target: UpstreamCommand | HttpUpstreamOptions, rules: Rules) {
  const { decisionsAt, decisionsOf } = await import('./check.ts');
  return 'url' in target ? await decisionsAt(target, rules) : await decisionsOf(await start(target), rules);
}

/** A name of a tool that could imitate another row is quoted, in ASCII. */
function shown(name: string): string {
  if (/^[\w.:/-]+$/.test(name)) return name;
  return JSON.stringify(name).replace(/[^ -~]/g, each => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** @throws {UsageError} */
async function printConfig({ file, name, client, command }: Request, of: Served | ServedOverHttp): Promise<number> {
  const { clientConfig } = await import('./client-config.ts');
  const named = name === undefined ? [] : ['--name', name];
  const servers =
    of.type === 'http'
      ? Object.keys(of.upstreams).map(upstream => [upstream, `http://${of.http.listen}/${upstream}`] as const)
      : [
          [
            of.name,
            file === undefined ? [...named, '--', ...command] : [resolve(file), '--upstream', of.name],
          ] as const,
        ];
  for (const [server, at] of servers) process.stdout.write(`${clientConfig(client, server, at)}\n`);
  return 0;
}

async function run(request: Request): Promise<number> {
  switch (request.action) {
    case 'help':
      process.stdout.write(`${USAGE}\n`);
      return 0;
    case 'schema': {
      const { configJsonSchema } = await import('./config.ts');
      process.stdout.write(`${JSON.stringify(configJsonSchema(), undefined, 2)}\n`);
      return 0;
    }
    case 'serve': {
      const of = await served(request);
      return of.type === 'http' ? await serveHttp(of) : await serve(of);
    }
    case 'check':
      return await check(await served(request));
    case 'config':
      return await printConfig(request, await served(request));
  }
}

try {
  // Connections of the gateway's client and a stopped child must not keep the process.
  process.exit(await run(requested(process.argv.slice(2))));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
