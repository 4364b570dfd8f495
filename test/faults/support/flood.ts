import { type HttpAnswer, HttpConnection } from '../../support/http-connection.ts';

export interface FloodOptions<R extends { readonly text: string }> {
  /** Address of the gateway, on this machine. */
  readonly address: string;
  /** Each connection sends its next request right after the previous response, whatever its status. */
  readonly connections: number;
  /** Returns the next request, as text and with what `onAnswer` needs; undefined at the end. */
  readonly next: () => R | undefined;
  readonly onAnswer: (answer: HttpAnswer, tookMs: number, request: R) => void;
}

export interface Flooded {
  readonly answers: number;
  /** Connections that were lost and reopened. */
  readonly lost: number;
}

/** Sends requests without pauses, over several connections. Resolves when there is no next request. */
export async function flood<R extends { readonly text: string }>(options: FloodOptions<R>): Promise<Flooded> {
  const { address, connections, next, onAnswer } = options;
  const port = Number(new URL(address).port);
  let answers = 0;
  let lost = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      let connection = await HttpConnection.open(port);
      for (let request = next(); request !== undefined; request = next()) {
        const began = performance.now();
        let answer: HttpAnswer;
        try {
          answer = await connection.request(request.text);
        } catch {
          lost += 1;
          connection[Symbol.dispose]();
          connection = await HttpConnection.open(port);
          continue;
        }
        answers += 1;
        onAnswer(answer, performance.now() - began, request);
      }
      connection[Symbol.dispose]();
    }),
  );
  return { answers, lost };
}

/** Returns the value below which this share of all values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
