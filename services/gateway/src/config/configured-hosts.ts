/**
 * Hosts with a port other than 443 in the https URLs of a part of the configuration, as `host:port`. The operator has written them, so
 * requests may go there.
 */
export function configuredHosts(part: unknown): string[] {
  if (typeof part === 'string') {
    const url = part.startsWith('https://') ? URL.parse(part) : null;
    return url === null || url.port === '' ? [] : [url.host];
  }
  if (typeof part !== 'object' || part === null) return [];
  return [...new Set(Object.values(part).flatMap(configuredHosts))];
}
