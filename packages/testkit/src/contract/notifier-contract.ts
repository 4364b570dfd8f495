import { expect, test } from 'vitest';
import { type ContractStores, suite } from './contract-stores.ts';
import { ask, cancel, created, engage, moved, somebody } from './samples.ts';

/** Longer than the timeout of a test that waits in vain. */
const FOREVER = 10 * 60_000;

export const describeNotifier = suite('notifier', stores => {
  const pending = () => created(stores.elicitations, ask(somebody()));

  /** Waits like a caller: a wake-up is only a hint, so it reads again. */
  async function untilStatus(
    watch: ReturnType<ContractStores['notifier']['watch']>,
    id: `el_${string}`,
    status: string,
  ) {
    while ((await stores.elicitations.read(id))?.status !== status) await watch.next(FOREVER);
  }

  test('a transition wakes its waiter', async () => {
    const elicitation = await pending();
    using watch = stores.notifier.watch(elicitation.elicitationId);
    const waiting = untilStatus(watch, elicitation.elicitationId, 'cancelled');
    await moved(stores.elicitations, elicitation, cancel);
    await waiting;
  });

  test('wakes every waiter for every transition', async () => {
    const elicitation = await pending();
    using one = stores.notifier.watch(elicitation.elicitationId);
    using other = stores.notifier.watch(elicitation.elicitationId);
    const active = await moved(stores.elicitations, elicitation, engage);
    await Promise.all([one, other].map(watch => untilStatus(watch, elicitation.elicitationId, 'active')));
    const waiting = Promise.all([one, other].map(watch => untilStatus(watch, elicitation.elicitationId, 'cancelled')));
    await moved(stores.elicitations, active, cancel);
    await waiting;
  });

  test('does not lose a change between reading and waiting', async () => {
    const elicitation = await pending();
    using watch = stores.notifier.watch(elicitation.elicitationId);
    expect(await stores.elicitations.read(elicitation.elicitationId)).toMatchObject({ status: 'pending' });
    await moved(stores.elicitations, elicitation, cancel);
    await watch.next(FOREVER);
    await untilStatus(watch, elicitation.elicitationId, 'cancelled');
  });

  test('a wait ends on timeout and on abort', async () => {
    using watch = stores.notifier.watch(ask(somebody()).elicitation.elicitationId);
    await watch.next(0);
    await watch.next(1);
    await watch.next(FOREVER, AbortSignal.abort());
    const abort = new AbortController();
    const waiting = watch.next(FOREVER, abort.signal);
    abort.abort();
    await waiting;
  });

  test('closing a watch ends its wait', async () => {
    const watch = stores.notifier.watch(ask(somebody()).elicitation.elicitationId);
    const waiting = watch.next(FOREVER);
    watch[Symbol.dispose]();
    await waiting;
    await watch.next(FOREVER);
  });
});
