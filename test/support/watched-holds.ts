import { createCondition } from './condition.ts';

/** Counts how often an MCP server has begun to wait for the end of an elicitation: by a waiting read, or by one before it listens. */
export interface WatchedHolds {
  /** What the MCP server is to call the gateway with. */
  readonly fetch: typeof fetch;
  /** When it has begun so `count` times (default once). */
  untilHolding(elicitationId: string, count?: number): Promise<void>;
}

export function watchHolds(): WatchedHolds {
  const holds = new Map<string, number>();
  const begun = createCondition();
  return {
    fetch: (target, init) => {
      const [, elicitationId] = /\/v1\/elicitations\/([^/?]+)(?:\?wait=\d+)?$/.exec(String(target)) ?? [];
      const answer = fetch(target, init);
      if (elicitationId !== undefined) {
        holds.set(elicitationId, (holds.get(elicitationId) ?? 0) + 1);
        begun.notify();
      }
      return answer;
    },
    untilHolding: (elicitationId, count = 1) => begun.until(() => (holds.get(elicitationId) ?? 0) >= count),
  };
}
