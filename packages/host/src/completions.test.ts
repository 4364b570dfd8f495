import { expect, test } from 'vitest';
import { Completions } from './completions.ts';

test('a notice ends all waits for its id, whether it arrives before or after them', async () => {
  const completions = new Completions();
  const waits = [completions.completion('a'), completions.completion('a')];
  completions.finish('a');
  await Promise.all(waits);
  completions.finish('early');
  await completions.completion('early');
});

test('a notice for another or a finished id does nothing', async () => {
  const completions = new Completions();
  let isOver = false;
  void completions.completion('a').then(() => {
    isOver = true;
  });
  completions.finish('b');
  completions.finish('b');
  completions.finish('x'.repeat(10_000));
  await Promise.resolve();
  expect(isOver).toBe(false);
});

test('remembers a bounded number of ids, and forgets an aborted wait', async () => {
  const completions = new Completions();
  const given = new AbortController();
  let isOver = false;
  void completions.completion('a', given.signal).then(() => {
    isOver = true;
  });
  given.abort();
  for (let at = 0; at < 2000; at += 1) completions.finish(`id-${at}`);
  completions.finish('a');
  await completions.completion('id-1999');
  void completions.completion('id-0').then(() => {
    isOver = true;
  });
  await Promise.resolve();
  expect(isOver).toBe(false);
});
