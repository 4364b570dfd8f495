import { brandedPage, createOpenIdServer, type Middleware, type Provider, pageHeaders } from '@postern/openid-server';
import { type HttpListener, listenHttp } from './listen-http.ts';

/** An OpenID provider of the demo, which listens on loopback. */
export interface DemoProvider extends HttpListener {
  readonly issuer: string;
  readonly provider: Provider;
}

export async function startProvider(
  options: {
    readonly port: number;
    /** The page at the root: its heading, and its contents as HTML. */
    readonly front: { readonly title: string; readonly body: string };
  } & Omit<Parameters<typeof createOpenIdServer>[0], 'issuer'>,
): Promise<DemoProvider> {
  const issuer = `http://localhost:${options.port}`;
  const { brand } = options;
  const front = brandedPage(brand, options.front.title, options.front.body, 'wide');
  const around = (provider: Provider): Middleware => {
    const inner = options.around?.(provider);
    return async (context, next) => {
      if (context.path !== '/' || context.method !== 'GET') return inner === undefined ? next() : inner(context, next);
      context.set(pageHeaders(brand));
      context.body = front;
    };
  };
  const provider = await createOpenIdServer({ ...options, around, issuer });
  return { ...(await listenHttp(options.port, provider.callback())), issuer, provider };
}
