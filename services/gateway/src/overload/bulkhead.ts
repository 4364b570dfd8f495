import { OutboundError, type OutboundFetch } from '@postern/authorization';
import { aroundFetch } from '../around-fetch.ts';

/**
 * Keeps a host that does not answer from taking up everything: each has only so many requests at once, and what comes on top fails at
 * once, as if the host were not reached, which is true of that request: nothing was sent.
 */
export function withBulkhead(
  fetch: OutboundFetch,
  options: { readonly perHost: number; readonly onFull: () => void },
): OutboundFetch {
  const underWay = new Map<string, number>();
  return aroundFetch(fetch, async (url, init) => {
    const host = URL.parse(String(url))?.host ?? '';
    const count = underWay.get(host) ?? 0;
    if (count >= options.perHost) {
      options.onFull();
      throw new OutboundError('outbound_unreachable', host);
    }
    underWay.set(host, count + 1);
    try {
      return await fetch(url, init);
    } finally {
      const left = (underWay.get(host) ?? 1) - 1;
      if (left === 0) underWay.delete(host);
      else underWay.set(host, left);
    }
  });
}
