import { type HttpAnswer, HttpConnection } from '../../bench/support/http-connection.ts';

export interface FloodOptions {
  /** Of the gateway, on this machine. */
  readonly address: string;
  /** Each sends its next request as soon as the last one is answered, whatever the answer was. */
  readonly connections: number;
  /** The text of the next request; undefined when there is to be none any more. */
  readonly next: () => string | undefined;
  readonly onAnswer: (answer: HttpAnswer, tookMs: number) => void;
}

export interface Flooded {
  readonly answers: number;
  /** Connections that were lost, and opened again. */
  readonly lost: number;
}

/** Callers who neither wait nor care. Resolves when there is no next request. */
export async function flood({ address, connections, next, onAnswer }: FloodOptions): Promise<Flooded> {
  const port = Number(new URL(address).port);
  let answers = 0;
  let lost = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      let connection = await HttpConnection.open(port);
      for (let text = next(); text !== undefined; text = next()) {
        const began = performance.now();
        try {
          const answer = await connection.request(text);
          answers += 1;
          onAnswer(answer, performance.now() - began);
        } catch {
          lost += 1;
          connection[Symbol.dispose]();
          connection = await HttpConnection.open(port);
        }
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
