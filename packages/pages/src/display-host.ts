/**
 * The host of an address as it is shown to people: lower case ASCII (internationalised names as punycode, so that a
 * look-alike letter is visible), with the port when it is not the usual one. UTS 39, RFC 5891.
 *
 * @throws TypeError when the address is neither `https:` nor `http:`, whose hosts alone are normalised that way.
 */
export function displayHost(url: URL): string {
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new TypeError('only web addresses have a host to show');
  return url.host;
}

/** True for a host as {@link displayHost} makes it. */
export function isDisplayHost(host: string): boolean {
  return /^(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$/.test(host);
}
