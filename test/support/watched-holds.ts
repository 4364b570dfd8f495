import { createCondition } from './condition.ts';

/** Counts how often an MCP server has started to wait for an elicitation: by a waiting read, or by a read before it listens. */
export interface WatchedHolds {
  /** The `fetch` for the MCP server. */
  readonly fetch: typeof fetch;
  /** Resolves when it has started to wait `count` times (default once). */
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
