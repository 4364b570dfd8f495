import { expect, it } from 'vitest';
import { ALICE, askFor, startWorld } from '../support/world.ts';

it('issues, coalesces, reads and cancels', async () => {
  await using world = await startWorld();
  const api = world.api();
  const issued = await api.issue(askFor(world, ALICE));
  expect(issued).toMatchObject({ status: 201, body: { status: 'pending' } });
  expect(issued.body.url).toBe(`${world.publicUrl}/e/${issued.body.elicitationId}`);
  const again = await api.issue(askFor(world, ALICE));
  expect(again).toMatchObject({ status: 200, body: { elicitationId: issued.body.elicitationId } });
  expect(await api.cancel(issued.body.elicitationId)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
  const page = await fetch(issued.body.url);
  console.log(page.status, Object.fromEntries(page.headers), (await page.text()).slice(0, 1500));
  console.log(world.log());
});
