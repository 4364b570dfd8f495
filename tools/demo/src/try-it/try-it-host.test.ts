import { expect, test } from 'vitest';
import { Ring } from '../ring.ts';
import { tryItStories } from './stories.ts';
import { MOST_LINES, TryItHost } from './try-it-host.ts';

/** Nothing listens there, so every call fails. */
const mcpUrl = 'http://127.0.0.1:1/mcp';
const [story] = tryItStories;

test('the logs keep their newest lines and go on, and a leak stays counted', async () => {
  if (story === undefined) throw new TypeError('there is no story');
  const events = new Ring<string>(MOST_LINES);
  await using host = new TryItHost({ mcpUrl, events, secrets: () => ['leaked-secret', 'kept-secret'] });
  events.push('{"token":"leaked-secret"}');
  expect(host.state()).toMatchObject({ secrets: { known: 2, leaked: 1 }, waitingFor: undefined });

  for (let call = 0; call < MOST_LINES; call += 1) {
    await host.start(story);
    events.push(`event ${call}`);
  }
  const { conversation, messages, events: log, secrets } = host.state();
  expect([conversation.total, conversation.lines.length]).toEqual([2 * MOST_LINES, MOST_LINES]);
  expect(conversation.lines.at(-1)?.kind).toBe('failure');
  expect(messages.lines.length).toBe(MOST_LINES);
  expect(messages.total).toBeGreaterThanOrEqual(MOST_LINES);
  expect([log.total, log.lines.at(-1)]).toEqual([MOST_LINES + 1, `event ${MOST_LINES - 1}`]);
  expect(secrets).toEqual({ known: 2, leaked: 1 });
});
