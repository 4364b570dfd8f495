import { type HttpAnswer, HttpConnection } from '../../bench/support/http-connection.ts';

export interface FloodOptions<R extends { readonly text: string }> {
  /** Of the gateway, on this machine. */
  readonly address: string;
  /** Each sends its next request as soon as the last one is answered, whatever the answer was. */
  readonly connections: number;
  /** The next request, as text and with what the asker wants to know of it; undefined when there is to be none any more. */
  readonly next: () => R | undefined;
  readonly onAnswer: (answer: HttpAnswer, tookMs: number, request: R) => void;
}

export interface Flooded {
  readonly answers: number;
  /** Connections that were lost, and opened again. */
  readonly lost: number;
}

/** Callers who neither wait nor care. Resolves when there is no next request. */
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

/** The value below which this share of all values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
