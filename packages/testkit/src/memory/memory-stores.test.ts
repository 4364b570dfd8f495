import { shardIn } from '@postern/elicitation';
import { describeStores, FEED_RETENTION } from '../contract/index.ts';
import { createFakeClock } from '../fake-clock.ts';
import { createMemoryStores } from './index.ts';

describeStores('memory', async () => {
  const clock = createFakeClock();
  const stores = createMemoryStores({ now: clock.now, feed: FEED_RETENTION });
  return {
    ...stores,
    clock,
    events: async shard => stores.events.filter(event => shardIn(event.elicitationId) === shard),
    [Symbol.asyncDispose]: stores.close,
  };
});
