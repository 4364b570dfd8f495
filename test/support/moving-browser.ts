import { createRawBrowser, type RawBrowser } from './raw-browser.ts';

/** One browser whose requests go to the replica that the test selects, as behind a load balancer. */
export interface MovingBrowser {
  /** The same cookies at that replica. */
  at(replica: number): RawBrowser;
}

/** @param p.addresses of the replicas behind `publicUrl` */
export function createMovingBrowser(p: { addresses: readonly string[]; publicUrl: string }): MovingBrowser {
  const browsers = p.addresses.map(address => createRawBrowser({ address, publicUrl: p.publicUrl }));
  let current = browsers[0];
  return {
    at(replica) {
      const next = browsers[replica];
      if (current === undefined || next === undefined) throw new Error(`there is no replica ${replica}`);
      if (next !== current) {
        next.cookies.clear();
        for (const [name, value] of current.cookies) next.cookies.set(name, value);
      }
      current = next;
      return next;
    },
  };
}
