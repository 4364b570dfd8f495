import { DomainError, UnknownRecordLayoutError } from '@postern/elicitation';
import { createFakeClock } from '@postern/testkit/clock';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createUnknownLayoutLog } from './unknown-layouts.ts';

test('names each layout once a minute, and leaves every other error alone', () => {
  const lines: string[] = [];
  const clock = createFakeClock();
  const logger = pino({ base: null }, { write: line => void lines.push(line) });
  const note = createUnknownLayoutLog({ logger, now: clock.now });
  const layouts = () => lines.splice(0).map(line => (JSON.parse(line) as { layout: unknown }).layout);

  expect([3, 3, 4, undefined, 3].map(layout => note(new UnknownRecordLayoutError(layout)))).not.toContain(false);
  expect(layouts()).toEqual([3, 4, 'none']);
  clock.advance(59_999);
  note(new UnknownRecordLayoutError(3));
  expect(layouts()).toEqual([]);
  clock.advance(1);
  note(new UnknownRecordLayoutError(3));
  expect(layouts()).toEqual([3]);
  expect([new DomainError('contention', ''), new Error('x'), 'x'].map(note)).toEqual([false, false, false]);
  expect(layouts()).toEqual([]);
});
