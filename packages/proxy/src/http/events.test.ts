import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AnswerStream } from './answer-stream.ts';
import { AddedEvents } from './events.ts';

test('a stream that breaks after its reader has left troubles nobody', async () => {
  const added = new AddedEvents();
  added.add({ id: undefined, event: undefined, data: 'due' });
  const chunk = Promise.withResolvers<IteratorResult<Buffer>>();
  const chunks: AsyncIterator<Buffer> = {
    next: () => chunk.promise,
    return: async () => ({ done: true, value: undefined }),
  };
  const events = added.within({ [Symbol.asyncIterator]: () => chunks });
  expect((await events.next()).value?.toString()).toBe('data: due\n\n');
  await events.return(undefined);
  const unhandled: unknown[] = [];
  process.on('unhandledRejection', error => unhandled.push(error));
  chunk.reject(new Error('closed'));
  await delay(10);
  expect(unhandled).toEqual([]);
});

test('a stream that passes on another one has an end, although that breaks within an event', async () => {
  const stream = new AnswerStream(true);
  stream.begin();
  const parts = ['data: 1\n\n', 'data: 2'];
  const body = new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part === undefined) controller.error(new Error('closed'));
      else controller.enqueue(Buffer.from(part));
    },
  });
  const text = stream.response.then(response => response.text());
  await stream
    .adopt(new Response(body, { headers: { 'content-type': 'text/event-stream' } }))
    .catch(() => stream.end('3'));
  expect(await text).toBe('data: 1\n\ndata: 3\n\n');
});
