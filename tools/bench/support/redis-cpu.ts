import type { Redis } from 'ioredis';

/** Processor time of Redis so far, in milliseconds. */
export async function redisCpuMs(redis: Redis): Promise<number> {
  const cpu = await redis.info('cpu');
  const read = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(cpu)?.[1]);
  return (read('used_cpu_sys') + read('used_cpu_user')) * 1000;
}
