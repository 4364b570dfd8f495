const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether the host of the URL is this machine, by its name or address. */
export const isLoopback = ({ hostname }: URL): boolean => LOOPBACK.test(hostname);

/** Whether requests to the URL stay confidential: https, or http on loopback. */
export function isConfidential(url: URL, allowHttp: boolean): boolean {
  return url.protocol === 'https:' || (url.protocol === 'http:' && (allowHttp || isLoopback(url)));
}
