interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
}

/** The cookies of one browser, by host and path. Ports of a host share them, and they never expire. */
export interface CookieJar {
  /** Returns the value of the `Cookie` header, or undefined without cookies. */
  header(url: URL): string | undefined;
  store(url: URL, response: Response): void;
}

export function createCookieJar(): CookieJar {
  const cookies = new Map<string, Cookie>();

  return {
    header(url) {
      const sent = [...cookies.values()].filter(
        ({ host, path }) => host === url.hostname && isUnder(url.pathname, path),
      );
      return sent.length === 0 ? undefined : sent.map(({ name, value }) => `${name}=${value}`).join('; ');
    },
    store(url, response) {
      for (const line of response.headers.getSetCookie()) {
        const [pair = '', ...attributes] = line.split(';').map(part => part.trim());
        const name = pair.slice(0, pair.indexOf('='));
        const value = pair.slice(pair.indexOf('=') + 1);
        const attribute = (key: string) =>
          attributes.find(part => part.toLowerCase().startsWith(`${key}=`))?.slice(key.length + 1);
        const path = attribute('path') ?? '/';
        const key = `${url.hostname} ${path} ${name}`;
        const expires = attribute('expires');
        const isRemoval =
          value === '' || attribute('max-age') === '0' || (expires && Date.parse(expires) <= Date.now());
        if (isRemoval) cookies.delete(key);
        else cookies.set(key, { name, value, host: url.hostname, path });
      }
    },
  };
}

/** RFC 6265 section 5.1.4. */
function isUnder(pathname: string, path: string): boolean {
  return pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`);
}
