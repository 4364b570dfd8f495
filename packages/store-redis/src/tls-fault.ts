import { connect } from 'node:tls';
import { credentialsOf, endpointsOf, type RedisAddress, type RedisTlsOptions } from './redis-address.ts';
import { faultOf, type RedisFault } from './redis-fault.ts';

/**
 * Whether TLS is why nothing could be reached: ioredis says so of a single Redis only. Undefined when it is not, or nothing is there.
 */
export async function tlsFaultOf(
  address: RedisAddress,
  tls: RedisTlsOptions | undefined,
  withinMs: number,
): Promise<RedisFault | undefined> {
  const { tls: secured } = credentialsOf(address, tls);
  const [endpoint] = endpointsOf(address);
  if (secured === undefined || endpoint === undefined) return undefined;
  const { promise, resolve } = Promise.withResolvers<RedisFault | undefined>();
  const socket = connect({ ...endpoint, ...secured }, () => resolve(undefined));
  socket.setTimeout(withinMs, () => resolve(undefined));
  socket.once('error', (error: unknown) => {
    const fault = faultOf(error);
    resolve(fault.code === 'tls' ? fault : undefined);
  });
  return promise.finally(() => socket.destroy());
}
