import { brandedPage, createOpenIdServer, type Middleware, type Provider, pageHeaders } from '@postern/openid-server';
import { type HttpListener, listenHttp } from './listen-http.ts';

/** An OpenID provider of the demo, which listens on loopback. */
export interface DemoProvider extends HttpListener {
  readonly issuer: string;
  readonly provider: Provider;
}

export async function startProvider(
  options: { readonly port: number } & Omit<Parameters<typeof createOpenIdServer>[0], 'issuer'>,
): Promise<DemoProvider> {
  const issuer = `http://localhost:${options.port}`;
  const { brand, users } = options;
  const front = brandedPage(
    brand,
    `Welcome to ${brand.name}`,
    `<p>${brand.tagline}.</p><p>Accounts here: ${users.map(({ name }) => name).join(', ')}.</p>
<p class="muted">An application that needs this provider sends you here to sign in. There are no passwords.</p>`,
  );
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
