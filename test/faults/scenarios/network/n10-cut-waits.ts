import { startFaultProxy } from '@postern/testkit/fault-proxy';
import { type Way, ways } from '../../../support/verb-play.ts';
import { startVerbWorld } from '../../../support/verb-world.ts';
import { keyOf } from '../../../support/world.ts';
import type { FaultRun, Scenario } from '../../scenario.ts';
import { until } from '../../support/until.ts';

/** The catalogue says 30 seconds; shorter, so that many connections are cut. */
const CUT_MS = 3_000;
/** The product waits 25 seconds. */
const SHORT_WAIT_S = 1;
/** Pause between two actions of a slow user. */
const HOLDS = 2;

/** All calls of an MCP server go through a proxy that cuts each connection after a while. */
async function throughCuttingProxy(run: FaultRun): Promise<void> {
  const world = run.stack.use(await startVerbWorld());
  const port = Number(new URL(world.gateways[0]?.address ?? '').port);
  const proxy = run.stack.use(await startFaultProxy(port, { seed: run.seed }));
  using _cut = proxy.add({ type: 'reset_peer', direction: 'downstream', timeoutMs: CUT_MS });
  const url = `http://127.0.0.1:${proxy.port}`;

  const { elicitationId } = await world.ask(world.subject());
  const read = (wait: number) =>
    fetch(`${url}/v1/elicitations/${elicitationId}?wait=${wait}`, {
      headers: { authorization: `Bearer ${keyOf('tracker')}`, connection: 'close' },
    });
  // On a busy machine a short wait may be cut as well.
  await until('a short wait to be answered before the cut', async () => {
    const inTime = await read(SHORT_WAIT_S);
    return inTime.status === 200 && ((await inTime.json()) as { status: string }).status === 'pending';
  });
  const tooLong = await read(30).then(
    answer => answer.status,
    () => 'cut',
  );
  if (tooLong !== 'cut') throw new Error(`the proxy did not cut: ${tooLong}`);

  for (const way of waysFor(run)) {
    const person = world.person();
    const postern = { ...way.endpoint.postern, url, holdMs: SHORT_WAIT_S * 1000 };
    const cut: Way = { ...way, endpoint: { ...way.endpoint, postern } };
    const endpoint = await world.endpoint(cut.endpoint);
    const player = await world.player(cut, person);
    const order = world.order();
    // A hold that ends before the cut shows the same page again, while its user is still on it.
    let accepted: Promise<unknown> | undefined;
    const acceptOnce = async (id: string) => {
      if (way.hearsOfEnd || way.revision === '2026-07-28') await endpoint.untilHolding(id, HOLDS);
      await person.accept(id);
    };
    const played = await player.play(
      'confirm',
      { order },
      {
        async atPage(id) {
          accepted ??= acceptOnce(id);
          await accepted;
        },
      },
    );
    if (played.text !== 'accept') throw new Error(`${way.name}: ${played.text}`);
    const gave = endpoint.given.filter(one => one.order === order).length;
    if (gave !== 1) throw new Error(`${way.name}: the handler ran ${gave} times`);
  }
}

/** MCP drivers that hold a call open or wait for the end of an elicitation. */
function waysFor({ isLong, random }: FaultRun): readonly Way[] {
  const asking = ways.filter(({ url }) => url !== 'plain');
  return isLong
    ? asking
    : [random.pick(asking.filter(({ revision }) => revision === '2026-07-28')), random.pick(asking)];
}

export const cutWaits: readonly Scenario[] = [
  {
    item: 'N10',
    name: 'a proxy closes every connection of MCP servers during their waiting reads',
    run: throughCuttingProxy,
  },
];
