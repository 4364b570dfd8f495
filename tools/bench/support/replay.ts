import { Redis } from 'ioredis';
import { type CapturedCommand, filled } from './captured-command.ts';

const CONNECTIONS = 4;
/** Elicitations in one round trip. */
const BATCH = 250;
/** First words of the replies of scripts that have written. */
const WRITTEN: ReadonlySet<unknown> = new Set(['created', 'applied']);

/**
 * Repeats what the gateway sent for an elicitation, with fresh ids of equal length: same scripts, same records, same key sizes.
 * @param historyOf the commands of the nth elicitation
 * @throws Error if a script has not written
 */
export async function replay(
  redisUrl: string,
  count: number,
  historyOf: (nth: number) => readonly CapturedCommand[],
): Promise<void> {
  let begun = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const connection = new Redis(redisUrl);
      while (begun < count) {
        const end = Math.min(count, begun + BATCH);
        const pipeline = connection.pipeline();
        for (; begun < end; begun += 1) {
          const drawn = new Map<string, string>();
          for (const command of historyOf(begun)) pipeline.call(command.name, ...filled(command, undefined, drawn));
        }
        for (const [error, reply] of (await pipeline.exec()) ?? [])
          if (error !== null || (Array.isArray(reply) && !WRITTEN.has(reply[0])))
            throw error ?? new Error('a replayed script has not written');
      }
      connection.disconnect();
    }),
  );
}
