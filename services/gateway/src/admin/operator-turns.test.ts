import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createOperatorTurns } from './operator-turns.ts';

const responseOf = () => new ServerResponse(new IncomingMessage(new Socket()));

it('works for two requests of an operator at a time, also after their browser has left, and for others meanwhile', async () => {
  const turns = createOperatorTurns(new AbortController().signal);
  const ends: (() => void)[] = [];
  let began = 0;
  const work = () => {
    began += 1;
    return new Promise<void>(resolve => ends.push(resolve));
  };
  const responses = Array.from({ length: 34 }, responseOf);
  const taken = responses.map(response => turns.take('vera', response, work));
  await Promise.resolve();
  expect(began).toBe(2);
  await expect(turns.take('vera', responseOf(), work)).rejects.toMatchObject({ code: 'rate_limited' });
  expect(await turns.take('sam', responseOf(), () => 'done')).toBe('done');

  // The browser of a request under way leaves: the work goes on. One that waits is not begun.
  responses[0]?.emit('close');
  responses[2]?.emit('close');
  await expect(taken[2]).rejects.toMatchObject({ code: 'rate_limited' });
  expect(began).toBe(2);
  for (let done = 0; done < 33; done += 1) {
    await expect.poll(() => ends.length).toBeGreaterThan(0);
    ends.shift()?.();
  }
  await Promise.all(taken.toSpliced(2, 1));
  expect(began).toBe(33);
});

it('does not begin a request that has waited until another configuration is in force', async () => {
  const retired = new AbortController();
  const turns = createOperatorTurns(retired.signal);
  const ends: (() => void)[] = [];
  let began = 0;
  const work = () => {
    began += 1;
    return new Promise<void>(resolve => ends.push(resolve));
  };
  const underWay = [turns.take('vera', responseOf(), work), turns.take('vera', responseOf(), work)];
  const waiting = turns.take('vera', responseOf(), work);
  await Promise.resolve();
  retired.abort();
  for (const end of ends) end();
  await Promise.all(underWay);
  await expect(waiting).rejects.toMatchObject({ code: 'rate_limited' });
  expect(began).toBe(2);
});
