const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether requests to the URL stay confidential: https, or http on loopback. */
export function isConfidential({ protocol, hostname }: URL, allowHttp: boolean): boolean {
  return protocol === 'https:' || (protocol === 'http:' && (allowHttp || LOOPBACK.test(hostname)));
}
