/**
 * Returns the host of a URL for display: lower case ASCII (internationalised names as punycode, so look-alike letters are
 * visible), with the port unless it is the default. UTS 39, RFC 5891.
 *
 * @throws TypeError unless the URL is `https:` or `http:`, because only their hosts are normalised
 */
export function displayHost(url: URL): string {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new TypeError('only web addresses have a host to show');
  return url.host;
}

/** Whether a host is in the form of {@link displayHost}. */
export function isDisplayHost(host: string): boolean {
  return /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/.test(host);
}
