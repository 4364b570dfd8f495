/** For tests: serves the sample pages with real headers on loopback. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type Locale, locales } from '../languages/languages.ts';
import { pageHeaders } from '../page-headers.ts';
import { pageScript } from '../page-script.ts';
import { samplePages } from '../samples/sample-pages.ts';
import { stylesheet } from '../stylesheet.ts';
import type { Branding, PageContext } from '../views.ts';
import { sampleBranding } from './sample-context.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface PageServer extends AsyncDisposable {
  readonly origin: string;
  readonly received: ReceivedRequest[];
  /** The address of a sample page. */
  page(name: string, locale?: Locale): string;
}

const logo =
  '<svg xmlns="http://www.w3.org/2000/svg" width="48" height="48"><rect width="48" height="48" rx="12" fill="#345"/></svg>';

/** Headers of the other resources of the gateway. */
const asset = { 'x-content-type-options': 'nosniff', 'cache-control': 'public, max-age=31536000, immutable' } as const;

/**
 * Serves `/{locale}/{page}`. `extraPages` are served in addition to the samples. A POST gets a 303 to `redirectTo`, as from the gateway,
 * or a 204.
 */
export async function servePages(
  options: {
    branding?: Branding;
    redirectTo?: string;
    extraPages?: Readonly<Record<string, (context: PageContext) => string>>;
  } = {},
): Promise<PageServer> {
  const branding = options.branding ?? sampleBranding;
  const sheet = stylesheet(branding);
  const pages = { ...samplePages, ...options.extraPages };
  const received: ReceivedRequest[] = [];
  const httpServer = createServer(async (request, response) => {
    const path = request.url ?? '/';
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ method: request.method ?? '', path, headers: request.headers, body });
    const [, locale, name = ''] = path.split('/');
    const known = [...locales, 'en-XA' as const].find(shown => shown === locale);
    const render = known === undefined ? undefined : pages[name];
    if (request.method === 'POST') {
      if (options.redirectTo === undefined) response.writeHead(204).end();
      else response.writeHead(303, { ...pageHeaders, location: options.redirectTo }).end();
    } else if (path === sheet.path) {
      response.writeHead(200, { 'content-type': 'text/css; charset=utf-8', ...asset }).end(sheet.body);
    } else if (path === pageScript.path) {
      response.writeHead(200, { 'content-type': 'text/javascript; charset=utf-8', ...asset }).end(pageScript.body);
    } else if (path === '/assets/logo.svg') {
      response.writeHead(200, { 'content-type': 'image/svg+xml', ...asset }).end(logo);
    } else if (render === undefined) {
      response.writeHead(404, pageHeaders).end();
    } else {
      const context = { locale: locale as Locale, branding, stylesheetPath: sheet.path, path };
      response.writeHead(200, pageHeaders).end(name in samplePages ? staying(render(context)) : render(context));
    }
  });
  const origin = await listen(httpServer);
  return {
    origin,
    received,
    page: (name, locale = 'en') => `${origin}/${locale}/${name}`,
    [Symbol.asyncDispose]: () => close(httpServer),
  };
}

/** A sample page is looked at: it does not go on by itself to its provider on the Internet. */
const staying = (page: string) => page.replace(/<meta http-equiv="refresh"[^>]*>/, '');

function listen(httpServer: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    httpServer.once('error', reject);
    httpServer.listen(0, '127.0.0.1', () => {
      const address = httpServer.address();
      if (address === null || typeof address === 'string') reject(new Error('no port'));
      else resolve(`http://127.0.0.1:${address.port}`);
    });
  });
}

function close(httpServer: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    httpServer.close(error => (error === undefined ? resolve() : reject(error)));
    httpServer.closeAllConnections();
  });
}
