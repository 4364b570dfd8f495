import { once } from 'node:events';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { defaultText } from '@postern/api';
import { type Locale, pageHeaders } from '@postern/pages';
import { createPreview } from '@postern/pages/samples';
import { createLooks, mcpServerViewOf } from '../pages/looks.ts';
import { ConfigError } from '../platform/config/config-error.ts';
import { loadConfig } from '../platform/config/load-config.ts';
import { CliError, type CliIo, type ExitCode, exitCodes } from './cli-io.ts';
import type { Invocation } from './command.ts';

/**
 * `postern pages preview`: shows every page with the branding of a configuration, on a free loopback port until interrupted, or as files in
 * a new folder. Needs no Redis. The server reads the configuration again when one of its files has changed.
 * @throws ConfigError, CliError
 */
export async function pagesPreview({ configPath, values: { out } }: Invocation, io: CliIo): Promise<ExitCode> {
  let preview = previewOf(configPath, io);
  if (out !== undefined) {
    writeFiles(preview, out);
    io.out(`${join(out, 'index.html')}\n`);
    return exitCodes.ok;
  }
  const httpServer = createServer((request, response) => {
    // A target such as `//` is no URL.
    const pathname = URL.parse(request.url ?? '/', 'http://localhost')?.pathname ?? '';
    const path = pathname === '/' ? '/index.html' : pathname;
    if (path.endsWith('.html')) preview = previewAfterEdit(preview);
    const file = preview.read(decoded(path));
    if (file === undefined) response.writeHead(404, pageHeaders).end();
    // The reload of a page then sends no form again.
    else if (request.method === 'POST') response.writeHead(303, { ...pageHeaders, location: path }).end();
    else response.writeHead(200, { ...pageHeaders, 'content-type': file.type }).end(file.body);
  });

  /** A fault in a configuration that is being edited leaves the last valid one. */
  function previewAfterEdit(last: Preview): Preview {
    if ([...last.stamps].every(([path, stamp]) => stampOf(path) === stamp)) return last;
    try {
      return previewOf(configPath, io);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      io.err(`${error.message}\n`);
      return last;
    }
  }

  httpServer.listen(0, '127.0.0.1');
  await once(httpServer, 'listening');
  const address = httpServer.address();
  if (address === null || typeof address === 'string') throw new TypeError('no port');
  io.out(`http://127.0.0.1:${address.port}/\n`);
  io.err('Every page with your branding. Edit the configuration and reload a page; Ctrl-C ends the preview.\n');
  if (!io.signal.aborted) await once(io.signal, 'abort');
  httpServer.close();
  httpServer.closeAllConnections();
  return exitCodes.ok;
}

interface Preview extends ReturnType<typeof createPreview> {
  /** The files of the configuration, as they were read. */
  readonly stamps: ReadonlyMap<string, string>;
}

function previewOf(configPath: string, io: CliIo): Preview {
  const stamps = new Map<string, string>();
  const config = loadConfig(configPath, io.env, path => stamps.set(path, stampOf(path)));
  const looks = createLooks(config);
  const look = (mcpServerId?: string) => ({
    brandingIn: (locale: Locale) => looks.of(mcpServerId, locale).branding,
    stylesheetPath: looks.of(mcpServerId, 'en').stylesheetPath,
  });
  const asking = config.mcpServers.map(mcpServer => ({
    id: mcpServer.id,
    ownBranding: mcpServer.branding,
    mcpServer: mcpServerViewOf(mcpServer, config.images),
  }));
  const general = {
    id: 'general',
    name: defaultText(config.branding.name),
    isOfMcpServer: false,
    ...look(),
    mcpServer: asking[0]?.mcpServer,
  };
  const ofMcpServers = asking
    .filter(({ ownBranding }) => ownBranding !== undefined)
    .map(({ id, mcpServer }) => ({
      id: `mcp-server-${id}`,
      name: defaultText(mcpServer.name),
      isOfMcpServer: true,
      mcpServer,
      ...look(id),
    }));
  const assets = new Map([...looks.assets, ['/favicon.ico', looks.icon]]);
  return { ...createPreview([general, ...ofMcpServers], assets), stamps };
}

/** Changes with the file. */
function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? 'absent' : `${found.mtimeMs} ${found.size} ${found.ino}`;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return '';
  }
}

/** @throws CliError if the folder exists: files of another preview would stay in it */
function writeFiles(preview: Preview, out: string): void {
  try {
    mkdirSync(out);
  } catch (error) {
    throw new CliError(
      `${out}: cannot create this folder (${error instanceof Error && 'code' in error ? error.code : 'unknown'}).`,
    );
  }
  for (const path of preview.paths) {
    const file = preview.read(path);
    if (file === undefined) continue;
    mkdirSync(dirname(join(out, path)), { recursive: true });
    writeFileSync(join(out, path), file.body);
  }
}
