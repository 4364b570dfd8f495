import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RawAnswer } from '../support/raw-browser.ts';
import { dumpStore } from '../support/store-dump.ts';
import { startWorld, type World } from '../support/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
});

const unknownId = `el_0a${'A'.repeat(43)}`;
/** Everything that could tell one refusal from another. */
const seen = ({ status, headers, body, setCookies }: RawAnswer) => {
  const { date: _date, 'x-request-id': _id, ...others } = headers;
  const names = Object.keys(others).filter(name => !name.startsWith('x-ratelimit') && name !== 'set-cookie');
  return { status, names, body, setCookies: setCookies.length };
};

describe('the status for the script of a page', () => {
  it('says to the person of the page when it is out of date', async () => {
    const user = world.subject();
    const issued = await world.ask(user);
    const browser = world.raw();
    await browser.signIn(issued.elicitationId, user);
    const path = `/e/${issued.elicitationId}`;
    const phase = async () => JSON.parse((await browser.get(`${path}/status`)).body).phase;
    const shown = async () => / data-phase="([^"]+)"/.exec((await browser.get(path)).body)?.[1];
    expect([await phase(), await shown()]).toEqual(['decision', 'decision']);
    await browser.post(`${path}/decline`, { form: { csrf_token: await browser.csrfToken(issued.elicitationId) } });
    expect([await phase(), await shown()]).toEqual(['declined', undefined]);
  });

  it('says that the time is over, as soon as the page would', async () => {
    const user = world.subject();
    const issued = await world.ask(user, { ttlSeconds: 60 });
    const browser = world.raw();
    await browser.signIn(issued.elicitationId, user);
    world.clock.ahead += 60_000;
    const answer = await browser.get(`/e/${issued.elicitationId}/status`);
    world.clock.ahead -= 60_000;
    expect(JSON.parse(answer.body)).toEqual({ phase: 'expired' });
  });

  it('S114: answers everyone else alike, whether the elicitation exists or not, and writes nothing', async () => {
    const [user, other] = [world.subject(), world.subject()];
    const [forUser, forOther] = [await world.ask(user), await world.ask(other)];
    const stranger = world.raw();
    await stranger.signIn(forOther.elicitationId, other);
    const before = await dumpStore(world);
    const answers: ReturnType<typeof seen>[] = [];
    for (const browser of [stranger, world.raw()])
      for (const id of [forUser.elicitationId, unknownId, 'x'])
        for (const method of ['GET', 'HEAD']) {
          answers.push(seen(await browser.request(method, `/e/${id}/status`)));
        }
    expect(answers).toEqual(answers.map(() => ({ ...answers[0], status: 404, body: '', setCookies: 0 })));
    expect(await dumpStore(world)).toEqual(before);
  });
});
