import { freePort } from '@postern/testkit/processes';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { startWorld, type World } from '../support/world.ts';

/** Gateway processes on one Redis, and the port for the load balancer in front of them. */
export interface BalancedWorld extends AsyncDisposable {
  readonly world: World;
  readonly port: number;
  readonly replicas: readonly GatewayProcess[];
  /** Log lines of replicas about aborted requests. */
  readonly cut: readonly string[];
}

export async function startBalancedWorld(count: number): Promise<BalancedWorld> {
  await using stack = new AsyncDisposableStack();
  const port = await freePort();
  const world = stack.use(
    await startWorld({
      replicas: 0,
      publicUrl: `https://localhost:${port}`,
      // Leaves a busy machine enough time to finish; the drain time is the default of the product.
      config: { trustProxy: ['127.0.0.1'], stop: { finishSeconds: 60 } },
    }),
  );
  const cut: string[] = [];
  const onLine = (line: string) => {
    if (line.includes('"gateway.stop_cut"')) cut.push(line);
  };
  const replicas: GatewayProcess[] = [];
  for (let n = 0; n < count; n += 1) replicas.push(stack.use(await startGatewayProcess(world.config, { onLine })));
  const owned = stack.move();
  return { world, port, replicas, cut, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
