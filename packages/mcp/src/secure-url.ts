const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether what is sent there stays confidential: https, or never leaves this machine. */
export function isConfidential({ protocol, hostname }: URL, allowHttp: boolean): boolean {
  return protocol === 'https:' || (protocol === 'http:' && (allowHttp || LOOPBACK.test(hostname)));
}
