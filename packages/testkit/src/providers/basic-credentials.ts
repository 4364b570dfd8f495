/** Returns client id and secret from a `Basic` header, decoded as in RFC 6749 section 2.3.1. */
export function basicCredentials(
  authorization: string | readonly string[] | undefined,
): { user: string; password: string } | undefined {
  const [, encoded] = /^Basic (\S+)$/i.exec(String(authorization ?? '')) ?? [];
  if (encoded === undefined) return undefined;
  const credentials = Buffer.from(encoded, 'base64').toString();
  const colon = credentials.indexOf(':');
  const decode = (text: string) => new URLSearchParams(`v=${text}`).get('v') ?? '';
  return { user: decode(credentials.slice(0, colon)), password: decode(credentials.slice(colon + 1)) };
}
