/** The subscriber of the bare hop. Reports the age of every message, in microseconds. */
import { Redis } from 'ioredis';

export const HOP_CHANNEL = 'bench:hop';

if (import.meta.main) {
  const redis = new Redis(process.argv[2] ?? '');
  // Both ends read the same monotonic clock of the machine. The text is as long as an elicitation id.
  redis.on('message', (_channel: string, message: string) => {
    process.send?.({ microseconds: Number(process.hrtime.bigint() - BigInt(message.slice(0, 24))) / 1000 });
  });
  await redis.subscribe(HOP_CHANNEL);
  process.once('SIGTERM', () => process.exit(0));
  process.send?.({ ready: true });
}
